package orders

import "dyno/parts/debugpage"

// board is what the page at /debug/orders/ shows.
var board = debugpage.Board{
	Name: "ordersd",
	Figures: []debugpage.Figure{
		{Title: "Answered", Kind: debugpage.Rate, Metric: "orders_answers_good_total", Note: "with a status below 400"},
		{Title: "Refused", Kind: debugpage.Rate, Metric: "orders_answers_refused_total", Note: "with 4xx"},
		{Title: "Failed", Kind: debugpage.Rate, Metric: "orders_answers_failed_total", Note: "with 5xx"},
		{Title: "Time to answer, p99", Kind: debugpage.P99, Metric: "orders_request_seconds", Unit: debugpage.Seconds, Note: "of all routes"},
		{Title: "In flight", Kind: debugpage.Now, Metric: "orders_inflight", Note: "requests that are being answered"},
		{Title: "Statements", Kind: debugpage.Rate, Metric: "orders_statements_total", Note: "sent to the database"},
		{Title: "Queries a statement", Kind: debugpage.Share, Metric: "orders_batched_total", Of: "orders_batches_total", Note: "that shared its round trip"},
		{Title: "Breakers open", Kind: debugpage.Now, Metric: "orders_breakers_open", Note: "the database fails, or is slow"},
		{Title: "Second version differs", Kind: debugpage.Rate, Metric: "orders_release_different_total", Note: "in answers to copies of reads"},
		{Title: "Second version's share", Kind: debugpage.Now, Metric: "orders_release_fraction", Note: "of the accounts or the reads"},
	},
	Tables: []debugpage.Table{{
		Title: "Routes", Row: "Route", Label: "route", None: "There are no routes yet.",
		Columns: []debugpage.Figure{
			{Title: "Requests", Kind: debugpage.Rate, Metric: "orders_request_seconds_count"},
			{Title: "2xx", Kind: debugpage.Rate, Metric: "orders_request_seconds_count", Labels: map[string]string{"status": "2xx"}},
			{Title: "4xx", Kind: debugpage.Rate, Metric: "orders_request_seconds_count", Labels: map[string]string{"status": "4xx"}},
			{Title: "5xx", Kind: debugpage.Rate, Metric: "orders_request_seconds_count", Labels: map[string]string{"status": "5xx"}},
			{Title: "p50", Kind: debugpage.P50, Metric: "orders_request_seconds", Unit: debugpage.Seconds},
			{Title: "p99", Kind: debugpage.P99, Metric: "orders_request_seconds", Unit: debugpage.Seconds},
		},
	}, {
		Title: "Connections to the database", Row: "Pool", Label: "pool", None: "There is no pool.",
		Columns: []debugpage.Figure{
			{Title: "In use", Kind: debugpage.Now, Metric: "orders_pool_in_use"},
			{Title: "Open", Kind: debugpage.Now, Metric: "orders_pool_open"},
			{Title: "Handed out", Kind: debugpage.Rate, Metric: "orders_pool_acquires_total"},
			{Title: "Waited for, a second", Kind: debugpage.Rate, Metric: "orders_pool_wait_seconds_total", Unit: debugpage.Seconds},
			{Title: "Made", Kind: debugpage.Rate, Metric: "orders_pool_opened_total"},
		},
	}, {
		Title: "Requests that event loops gave a goroutine", Row: "Reason", Label: "reason", None: "There was none, or there are no event loops.",
		Columns: []debugpage.Figure{
			{Title: "Handed over", Kind: debugpage.Now, Metric: "orders_handed_over_total"},
			{Title: "A second", Kind: debugpage.Rate, Metric: "orders_handed_over_total"},
		},
	}},
}
