package ledger

import "dyno/parts/debugpage"

// board is the page at /debug/ledger/: how fast ledgers come, what bounds that, and each server.
var board = debugpage.Board{
	Name: "ledgersync",
	Figures: []debugpage.Figure{
		{Title: "Ledgers proved", Kind: debugpage.Rate, Metric: "ripple_sync_ledgers_total"},
		{Title: "Bytes of answers", Kind: debugpage.Rate, Metric: "ripple_sync_bytes_total", Unit: debugpage.Bytes},
		{Title: "Request to proof, p99", Kind: debugpage.P99, Metric: "ripple_sync_latency_ms", Unit: debugpage.Milliseconds},
		{Title: "Wrong answers", Kind: debugpage.Rate, Metric: "ripple_sync_wrong_total", Note: "asked for again elsewhere"},
		{Title: "Behind the tip", Kind: debugpage.Now, Metric: "ripple_follow_lag_ledgers", Note: "ledgers, with --follow"},
		{Title: "Waits for servers", Kind: debugpage.Now, Metric: "ripple_sync_bound_server", Unit: debugpage.Part, Note: "of the time"},
		{Title: "Waits for bytes allowed", Kind: debugpage.Now, Metric: "ripple_sync_bound_bytes", Unit: debugpage.Part, Note: "of the time"},
		{Title: "Waits for its pace", Kind: debugpage.Now, Metric: "ripple_sync_bound_pace", Unit: debugpage.Part, Note: "requests' rate is being raised"},
		{Title: "Processors", Kind: debugpage.Now, Metric: "ripple_sync_bound_cpu", Unit: debugpage.Part, Note: "used, or waited for"},
		{Title: "Waits for the store", Kind: debugpage.Now, Metric: "ripple_sync_bound_disk", Unit: debugpage.Part, Note: "of the time"},
	},
	Tables: []debugpage.Table{{
		Title: "Servers", Row: "Server", Label: "server", None: "No server is asked: this process only serves what is stored.",
		Columns: []debugpage.Figure{
			{Title: "Requests", Kind: debugpage.Rate, Metric: "ripple_server_requests_total"},
			{Title: "Limit", Kind: debugpage.Now, Metric: "ripple_server_request_rate"},
			{Title: "In flight", Kind: debugpage.Now, Metric: "ripple_server_in_flight"},
			{Title: "Latency", Kind: debugpage.Now, Metric: "ripple_server_latency_seconds", Unit: debugpage.Seconds},
			{Title: "Bytes", Kind: debugpage.Rate, Metric: "ripple_server_bytes_total", Unit: debugpage.Bytes},
			{Title: "Score", Kind: debugpage.Now, Metric: "ripple_server_score"},
			{Title: "slowDown", Kind: debugpage.Rate, Metric: "ripple_server_slowed_total"},
			{Title: "Failed", Kind: debugpage.Now, Metric: "ripple_server_troubles_total"},
			{Title: "Wrong", Kind: debugpage.Now, Metric: "ripple_server_blamed_total"},
			{Title: "Not asked for", Kind: debugpage.Now, Metric: "ripple_server_cooling_seconds", Unit: debugpage.Seconds},
		},
	}},
}
