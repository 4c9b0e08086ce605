# kernelstream serve; docs/serving.md says how it is started.
FROM python:3.12-slim

COPY . /tmp/kernelstream
RUN pip install --no-cache-dir '/tmp/kernelstream[serve]' && rm -rf /tmp/kernelstream \
    && useradd --create-home --uid 10001 kernelstream \
    && install -d -o kernelstream -g kernelstream /data

USER kernelstream
WORKDIR /data
# Compiled code is kept beside the store, so that a new container does not compile anew.
ENV KERNELSTREAM_CACHE=/data/cache PYTHONUNBUFFERED=1
VOLUME /data
EXPOSE 8000

HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=3 \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/v2/health/ready', timeout=4)"]

# Other addresses than 127.0.0.1 need a token: kernelstream token make NAME --scope admin --store /data/store
ENTRYPOINT ["kernelstream"]
CMD ["serve", "--host", "0.0.0.0", "--port", "8000", "--store", "/data/store"]
