module dyno/subjects

go 1.26.0

require (
	dyno/agent v0.0.0
	github.com/HdrHistogram/hdrhistogram-go v1.4.0
	github.com/rogpeppe/go-internal v1.16.0
	go.uber.org/goleak v1.3.0
	golang.org/x/sys v0.49.0
	pgregory.net/rapid v1.3.0
)

require golang.org/x/tools v0.26.0 // indirect

replace dyno/agent => ../agent
