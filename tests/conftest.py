"""What all tests share: how Hypothesis searches, where the real data is, what is long, whether threads are at work."""

import os

# Workers of pytest are one a core: products of matrices that took all of them would only wait for each other.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import gc
import re
import shutil
import signal
import sys
import tempfile
import threading
from fnmatch import translate
from pathlib import Path

import pytest
from hypothesis import settings

from kernelstream import ALGORITHMS
from kernelstream.engine import cores
from services import service  # noqa: F401 - a fixture

# A shell that runs the tests in the background has its jobs ignore interrupts, and what they start: the tests'
# come through.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# The same examples on every run: a failure is a change of ours, never of the dice.
settings.register_profile("laws", deadline=None, derandomize=True, max_examples=60)
settings.load_profile("laws")

ROOT = Path(__file__).parents[1]

# Where no bytecode is to lie beside sources, it lies here: otherwise each of the hundreds of processes that tests start
# compiles all that it imports, two seconds of its time. Workers of pytest are such processes too.
if sys.dont_write_bytecode:
    sys.dont_write_bytecode = False
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.pycache_prefix = os.environ.setdefault("PYTHONPYCACHEPREFIX", str(ROOT / "build" / "bytecode"))

# What tests write lies in memory where there is plenty of it: they end processes, never the machine, and a file that is
# written over, or made sure of, waits for a disk 2 to 7 ms.
MEMORY = Path("/dev/shm")
if "TMPDIR" not in os.environ and MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > 8 * 2**30:
    os.environ["TMPDIR"] = str(MEMORY)
    tempfile.tempdir = None

# Commands that tests start find the data sets where the tests do.
os.environ.setdefault("KERNELSTREAM_DATA", str(ROOT.parent / "shared" / "data"))


# What `make test` leaves to `make test-long`, as it takes minutes: more cases of what is tried otherwise too.
LONG = (
    "test_auto.py::test_features_and_classes_may_come_later[[]700]",
    "test_auto.py::test_features_and_classes_may_come_later[[]8292]",
    "test_auto.py::test_learning_goes_on_from_a_file_bit_for_bit[[]multiclass*",
    "test_auto.py::test_learning_goes_on_from_a_file_bit_for_bit[[]regression*",
    "test_auto.py::test_what_was_said_when_rows_were_shown_is_worth_remembering",
    "test_avm.py::test_law*",
    "test_baselines.py::test_few_import_vectors_are_as_good_as_all_points",
    "test_benchmarks.py::test_a_part_can_be_measured_alone",
    "test_benchmarks.py::test_courses_of_learners_that_rescale_project_or_refit*",
    "test_benchmarks.py::test_every_floor_runs*",
    "test_benchmarks.py::test_floors_of_sparse_rows_run*",
    "test_bogd.py::test_the_variants_obey_the_laws*",
    "test_checkpoints.py::test_an_entry_that_no_run_has_written*-1[]]",
    "test_cli.py::test_the_demo_writes_where_it_is_told",
    "test_commands.py::test_six_learners_take_hardly_more_than_their_learning_times",
    "test_compile.py::test_a_changed_callee_in_another_file_is_compiled_anew",
    "test_compile.py::test_a_cache_whose_files_were_cut_short_is_made_anew",
    "test_compile.py::test_an_algorithm_of_a_user_is_compiled_anew_when_it_changes_and_harms_nobody_else",
    "test_compile.py::test_several_cold_processes_share_one_cache_without_harm",
    "test_docs.py::test_example_of_the_gallery_draws*",  # which `make docs` runs, and fails with, in CI too
    "test_drift.py::test_a_resumed_run_finds_what_it_would_have_found[[]kswin*",
    "test_drift.py::test_a_resumed_run_finds_what_it_would_have_found[[]page*",
    "test_evaluate.py::test_three_million_rows_take_little_memory_and_always_the_same*",
    "test_formats.py::test_memory_is_bounded_over_two_hundred_thousand_rows",
    "test_four_rows.py::test_rows_shown_before_late_labels_see_every_change*",
    "test_hostile_files.py::test_no_number_of_a_file_makes_compiled_code_leave_its_arrays[[]auto]",
    "test_laws.py::test_an_exemption_is_of_a_law_that_does_not_hold*",
    "test_laws.py::test_block_size_has_no_effect_on_large_models*",
    "test_laws.py::test_law[[]block_size_has_no_effect-auto]",
    "test_laws.py::test_law[[][!e]*-*, *",  # of variants; all are compared with their references
    "test_laws.py::test_law[[]nothing_is_recompiled-auto]",
    "test_laws.py::test_law[[]resumes_bit_for_bit-auto]",
    "test_laws.py::test_law[[]threads_have_no_effect-auto]",
    "test_laws.py::test_law_in_every_case*",
    "test_laws.py::test_law_with_sums_and_products_of_kernels[[]nogd*",
    "test_laws.py::test_law_with_sums_and_products_of_kernels[[]polk*",
    "test_merge.py::*[[]satimage*",
    "test_merge.py::*[[]cpusmall*",
    "test_neighbours.py::test_tvm_knows_f_at_its_points_and_bounds_on_their_neighbours*",
    "test_no_tuning.py::test_probabilities_of_auto_can_be_believed[[]covtype]",
    "test_no_tuning.py::test_probabilities_of_auto_can_be_believed[[]elec2*",
    "test_onnx.py::test_every_form_of_a_learner[[]experts]",
    "test_onnx.py::test_every_learner_with_every_kernel_and_task*",
    "test_polk.py::test_law*",
    "test_ray.py::test_a_command_that_is_killed_is_resumed",
    "test_ray.py::test_a_dataset_of_rays_is_read_by_its_blocks",
    "test_ray.py::test_repetitions_run_over_the_cluster_with_the_same_results",
    "test_ray.py::test_what_was_kept_is_gone_on_from",
    "test_reliability.py::test_what_was_learned_when_an_interrupt_comes_is_what_is_counted[[]ridge*",
    "test_report.py::test_the_demo_runs_every_learner_on_every_data_set",
    "test_reproduce.py::test_the_quick_form_agrees_in_seven_of_eight_cells_in_less_than_three_minutes",
    "test_ridge.py::test_a_million_rows*",
    "test_risk.py::test_a_float32_model_goes_on_learning_after_2_to_the_24_rounds[[]dualsgd*",
    "test_risk.py::test_scores_are_coef_times_the_kernel_row[[]*-stack]",
    "test_risk.py::test_a_real_run_of_more_than_2_to_the_24_rounds_does_not_fade",
    "test_river.py::test_a_check_of_river_passes[[]*-[0-9]*-check_bounded_memory_growth]",
    "test_site.py::test_a_formula_is_drawn_by_the_browser_alone",  # which `make docs` runs on what it has built
    "test_site.py::test_a_real_browser_asks_nobody_and_no_page_is_wider_than_a_phone*",
    "test_site.py::test_every_name_and_every_page_is_there",
    "test_site.py::test_nothing_comes_from_elsewhere",
    "test_stack.py::test_late_labels_are_learned",
    "test_stack.py::test_least_squares_has_no_unit",
    "test_stack.py::test_parts_with_one_lift_lift_once_and_to_the_same_bits",
    "test_stack.py::test_weights_go_to_the_part_that_knows",
    "test_wheels.py::test_warming_up_chooses_native_code_for_good",
)
# What it tries with one learner of each kind only; the laws are tried with all, those of auto's cuts, files and threads
# by test_auto.
SAMPLED = (
    "test_class_weights.py::test_an_error_that_costs_more_is_made_less_often*",
    "test_estimators.py::test_a_name_alone_gives_a_good_model*",
    "test_coordinator.py::test_every_learner_that_merges_is_trained*",
    "test_estimators.py::test_chunking_has_no_effect*",
    "test_estimators.py::test_pickle_and_joblib_keep_the_model_and_go_on_learning*",
    "test_evaluate.py::test_a_trace_does_not_depend_on_the_blocks_though_gamma_is_settled_from_data*",
    "test_evaluate.py::test_prequential_equals_a_plain_loop_over_rows*",
    "test_forks.py::test_forks_become_one_that_counts_common_rows_once*",
    "test_four_rows.py::test_block_size_has_no_effect_on_images*",
    "test_intervals.py::test_coverage_is_a_law_on_real_streams*",
    "test_laws.py::test_block_size_has_no_effect_with_what_a_learner_settles_itself*",
    "test_laws.py::test_the_budget_is_reached_in_the_cases_that_check_it*",
    "test_defaults.py::*",
    "test_many_rounds.py::*",
    "test_merge.py::test_the_merged_model_of_shards_is_no_worse_than_its_parts*",
    "test_models.py::test_late_labels_give_the_numbers_of_a_plain_loop*",
    "test_onnx.py::test_every_learner_and_task*",
    "test_reliability.py::test_a_step_that_overflows_is_not_taken*",
    "test_river.py::test_every_learner_passes_the_checks_of_river*",
    "test_risk.py::test_scores_are_coef_times_the_kernel_row*",
    "test_sparse_points.py::*",
    "test_state.py::test_resuming_from_a_file_is_exact_bit_for_bit*",
    "test_tune.py::*",
)
KINDS = ("ogd", "bsgd-m", "fogd", "nogd", "ridge")


def pytest_collection_modifyitems(items):
    long, sampled = (re.compile("|".join(map(translate, some))).match for some in (LONG, SAMPLED))
    for item in items:
        name = f"{item.path.name}::{item.name}"
        if " at 0x" in name:  # each worker would have another, and none would begin
            raise pytest.UsageError(f"{name} holds an address; give the test ids")
        given = item.callspec.params.values() if hasattr(item, "callspec") else ()
        named = [getattr(getattr(one, "spec", one), "name", one) for one in given]  # of a case, its learner
        other = any(isinstance(one, str) and one in ALGORITHMS and one not in KINDS for one in named)
        if long(name) or (other and sampled(name)):
            item.add_marker("long")


def pytest_collection_finish():
    """What was imported and collected stays: looking for garbage in it again and again takes minutes."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def data_directory() -> Path:
    """The local mirror of the papers' datasets."""
    directory = Path(os.environ["KERNELSTREAM_DATA"])
    if not directory.is_dir():
        pytest.skip(f"no datasets at {directory}; set KERNELSTREAM_DATA")
    return directory


@pytest.fixture
def none_is_at_work():
    """Says whether all helpers can be had at once."""

    def ask():
        n = cores._helpers()._max_workers
        together = threading.Barrier(n)
        waiting = [cores.ask(together.wait, 30.0) for _ in range(n)]
        return sorted(one.result() for one in waiting) == list(range(n))

    return ask
