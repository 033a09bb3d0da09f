package arena

import "dyno/parts/debugpage"

// board is what the page at /debug/arena/ shows.
var board = debugpage.Board{
	Name: "arenad",
	Figures: []debugpage.Figure{
		{Title: "WebSockets", Kind: debugpage.Now, Metric: "arena_connections"},
		{Title: "Rooms", Kind: debugpage.Now, Metric: "arena_rooms"},
		{Title: "Lateness of a tick, p99", Kind: debugpage.P99, Metric: "arena_tick_lateness_seconds", Unit: debugpage.Seconds},
		{Title: "Ticks that took too long", Kind: debugpage.Rate, Metric: "arena_tick_overruns_total"},
		{Title: "Bytes to clients", Kind: debugpage.Rate, Metric: "arena_written_bytes_total", Unit: debugpage.Bytes},
		{Title: "Bytes that wait", Kind: debugpage.Now, Metric: "arena_out_queue_bytes", Unit: debugpage.Bytes, Note: "for clients that read slowly"},
		{Title: "States left out", Kind: debugpage.Rate, Metric: "arena_conflated_frames_total", Note: "for newer ones"},
		{Title: "Players by heartbeat", Kind: debugpage.Now, Metric: "arena_present_players", Note: "over HTTP, in the last 30 s"},
		{Title: "Servers", Kind: debugpage.Now, Metric: "arena_nodes", Note: "that are known, with this one"},
	},
	Tables: []debugpage.Table{{
		Title: "What clients sent and was not done", Row: "Reason", Label: "reason", None: "There is no reason.",
		Columns: []debugpage.Figure{
			{Title: "Now", Kind: debugpage.Rate, Metric: "arena_rejected_inputs_total"},
			{Title: "In all", Kind: debugpage.Now, Metric: "arena_rejected_inputs_total"},
		},
	}},
}
