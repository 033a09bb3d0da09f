package chain

import "dyno/parts/debugpage"

// board is what the page at /debug/chain/ shows.
var board = debugpage.Board{
	Name: "chaind",
	Figures: []debugpage.Figure{
		{Title: "Calls", Kind: debugpage.Rate, Metric: "blockchain_request_total"},
		{Title: "Time of a call, p99", Kind: debugpage.P99, Metric: "blockchain_request_duration_seconds", Unit: debugpage.Seconds, Note: "of all methods"},
		{Title: "Blocks", Kind: debugpage.Rate, Metric: "blockchain_block_height"},
		{Title: "Transactions that wait", Kind: debugpage.Now, Metric: "blockchain_pool_transactions", Note: "accepted, and in no block yet"},
		{Title: "Behind a nonce gap", Kind: debugpage.Now, Metric: "blockchain_pool_queued", Note: "of these"},
		{Title: "States written", Kind: debugpage.Rate, Metric: "blockchain_state_written_bytes_total", Unit: debugpage.Bytes},
		{Title: "Journal", Kind: debugpage.Now, Metric: "blockchain_journal_bytes", Unit: debugpage.Bytes, Note: "since its last checkpoint"},
		{Title: "WebSockets", Kind: debugpage.Now, Metric: "blockchain_sockets"},
		{Title: "Peers", Kind: debugpage.Now, Metric: "blockchain_peers"},
	},
	Tables: []debugpage.Table{{
		Title: "Methods", Row: "Method", Label: "method", None: "There was no call yet.",
		Columns: []debugpage.Figure{
			{Title: "Calls", Kind: debugpage.Rate, Metric: "blockchain_request_total"},
			{Title: "Without an error", Kind: debugpage.Rate, Metric: "blockchain_request_total", Labels: map[string]string{"status_code": "0"}},
			{Title: "p50", Kind: debugpage.P50, Metric: "blockchain_request_duration_seconds", Unit: debugpage.Seconds},
			{Title: "p99", Kind: debugpage.P99, Metric: "blockchain_request_duration_seconds", Unit: debugpage.Seconds},
		},
	}, {
		Title: "Connections that net/http serves instead of the event loop", Row: "Reason", Label: "reason", None: "The event loop serves all of them, or there is none.",
		Columns: []debugpage.Figure{
			{Title: "Handed over", Kind: debugpage.Now, Metric: "blockchain_handed_over_total"},
			{Title: "A second", Kind: debugpage.Rate, Metric: "blockchain_handed_over_total"},
		},
	}},
}
