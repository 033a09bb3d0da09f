module dyno/tests

go 1.26.0

require (
	dyno v0.0.0
	dyno/agent v0.0.0
	dyno/parts v0.0.0
	dyno/services/notify v0.0.0
	github.com/HdrHistogram/hdrhistogram-go v1.4.0
	github.com/chromedp/cdproto v0.159.0
	github.com/chromedp/chromedp v0.23.0
)

require (
	github.com/coder/websocket v1.8.15 // indirect
	github.com/go-json-experiment/json v0.0.0-20260820222146-c27c302e5fc3 // indirect
	github.com/google/pprof v0.0.0-20260906184651-6331bc6350fe // indirect
	golang.org/x/net v0.62.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
	golang.org/x/tools v0.52.0 // indirect
	gonum.org/v1/gonum v0.17.0 // indirect
)

replace (
	dyno => ..
	dyno/agent => ../agent
	dyno/parts => ../parts
	dyno/services/notify => ../services/notify
)

// This version of the whole has packages that are modules of their own today.
exclude google.golang.org/genproto v0.0.0-20230410155749-daa745c078e1
