package dyno

// columns are the keys that tables show, with their headings.
var columns = map[string]struct{ head, interval string }{
	"name":                  {"step", ""},
	"change":                {"change", ""},
	"beside":                {"beside", ""},
	"capacity_per_s":        {"capacity/s", "interval"},
	"work_per_s":            {"peak work/s", "work_interval"},
	"metric_value":          {"metric", ""},
	"p99_ms":                {"p99, ms", "p99_interval"},
	"cpu_us_per_request":    {"CPU, us", ""},
	"allocs_per_request":    {"allocations", ""},
	"bytes_per_request":     {"allocated, bytes", ""},
	"peak_rss_bytes":        {"peak RSS, bytes", ""},
	"peak_goroutines":       {"goroutines", ""},
	"ratio_to_baseline":     {"over the first", "ratio_interval"},
	"ratio_to_before":       {"over the step before", "before_interval"},
	"ratio_to_without":      {"the last over the last without it", "without_interval"},
	"cpu_ratio_to_baseline": {"CPU over the first", "cpu_ratio_interval"},
	"verdict":               {"verdict", ""},
	"cpu_verdict":           {"verdict by CPU", ""},
	"bound_by":              {"bound by", ""},
	"program":               {"program", ""},
	"truth":                 {"what bounds it", ""},
	"ratio":                 {"without it, over as it is", "ratio_bounds"},
	"place":                 {"place", ""},
	"sure":                  {"sure", ""},
	"judged":                {"the verdict is", ""},
	"same":                  {"times the same", ""},
	"commit":                {"commit", ""},
	"runs":                  {"runs", ""},
	"alarms":                {"a change is claimed in", ""},
	"found":                 {"found", ""},
	"found_by_cpu":          {"found by CPU", ""},
	"wrong":                 {"wrongly claimed", ""},
	"with_interval":         {"with an interval in", ""},
	"intervals":             {"intervals", ""},
	"covered":               {"of them with 1 inside", ""},
	"b_over_a":              {"B/A", "b_over_a_interval"},
	"expected":              {"expected", ""},
	"right":                 {"decided right", ""},
	"undecided":             {"not decided", ""},
	"generations":           {"generations", ""},
	"ns_per_op":             {"ns/op", "ns_per_op_interval"},
	"cpu_ns_per_op":         {"CPU, ns/op", "cpu_ns_per_op_interval"},
	"bytes_per_message":     {"bytes a message", ""},
	"allocs_per_op":         {"allocations/op", ""},
	"parks_per_s":           {"parks/s", "parks_per_s_interval"},
	"layout_percent":        {"layouts differ by, %", ""},
	"slice_percent":         {"slices differ by, %", ""},

	// Of a sweep, which has rows of its own.
	"variant":         {"variant", ""},
	"offered_per_s":   {"offered/s", ""},
	"delivered_per_s": {"delivered/s", ""},
	"refused_per_s":   {"refused/s", ""},
	"concurrency":     {"concurrency", ""},
	"per_s":           {"done/s", "per_s_interval"},
	"p95_ms":          {"p95, ms", "p95_interval"},

	// Of bench/claims/plain.
	"place_share":  {"share", ""},
	"cpu_by_kind":  {"CPU by kind", ""},
	"cpu_of_named": {"CPU of what the source names", ""},
	"source":       {"the source's table says", ""},

	// Of bench/claims/spans.
	"formula_a":     {"a", ""},
	"formula_b":     {"b", "formula_b_rounds"},
	"formula_error": {"error of a point", ""},

	// Of bench/peers/archive.
	"transfers":           {"transfers", ""},
	"kept_bytes":          {"bytes kept a transfer", ""},
	"written_bytes":       {"bytes written a transfer", ""},
	"cpu_us_per_transfer": {"CPU, us a transfer", ""},
	"transfers_per_s":     {"transfers/s", ""},
	"balance_us":          {"balance, us", ""},
	"nonce_us":            {"nonce, us", ""},
	"slot_us":             {"slot, us", ""},
	"question_p99_us":     {"all, p99, us", ""},

	// Of bench/calibrate --what-if.
	"bound":        {"bound", ""},
	"at_most":      {"throughput, at most", ""},
	"work":         {"throughput, measured", "work_between"},
	"cpu_at_least": {"CPU, at least", ""},
	"cpu":          {"CPU, measured", "cpu_between"},
	"mark":         {"the estimate", ""},

	// Of bench/claims/amplification.
	"record_bytes_per_request": {"records, bytes", ""},
	"state_amplification":      {"written for each of them: states", "state_amplification_runs"},
	"amplification":            {"states and blocks", "amplification_runs"},
}

// counts are the keys of whole numbers.
var counts = []string{"runs", "alarms", "found", "found_by_cpu", "wrong", "right", "undecided", "with_interval", "intervals", "covered", "generations", "concurrency", "transfers", "same"}
