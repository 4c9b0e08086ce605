"use strict";
// This Swagger UI shows OpenAPI 3.1 by what it knows of 3.0, but not under that number.
fetch("/openapi.json")
  .then((response) => response.json())
  .then((spec) => SwaggerUIBundle({ spec: { ...spec, openapi: "3.0.3" }, dom_id: "#swagger-ui", validatorUrl: null }));
