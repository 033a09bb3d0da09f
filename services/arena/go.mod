module dyno/services/arena

go 1.26.0

require (
	dyno/agent v0.0.0
	dyno/parts v0.0.0
	github.com/coder/websocket v1.8.15
	github.com/planetscale/vtprotobuf v0.6.0
	go.uber.org/goleak v1.3.0
	google.golang.org/protobuf v1.36.12
)

require (
	golang.org/x/sys v0.49.0 // indirect
	pgregory.net/rapid v1.3.0
)

replace (
	dyno/agent => ../../agent
	dyno/parts => ../../parts
)
