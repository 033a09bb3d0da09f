module dyno/services/arena/bots

go 1.26.0

require (
	dyno v0.0.0
	dyno/services/arena v0.0.0
	google.golang.org/protobuf v1.36.12
)

require (
	dyno/agent v0.0.0 // indirect
	dyno/parts v0.0.0 // indirect
	github.com/HdrHistogram/hdrhistogram-go v1.4.0 // indirect
	github.com/google/pprof v0.0.0-20260906184651-6331bc6350fe // indirect
	github.com/planetscale/vtprotobuf v0.6.1-0.20240319094008-0393e58bdf10 // indirect
	golang.org/x/sys v0.49.0 // indirect
)

replace (
	dyno => ../../..
	dyno/agent => ../../../agent
	dyno/cmd/service => ../../../cmd/service
	dyno/parts => ../../../parts
	dyno/services/arena => ..
)
