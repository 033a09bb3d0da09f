module dyno/services/notify/soak

go 1.26.0

require (
	dyno/parts v0.0.0
	github.com/hanwen/go-fuse/v2 v2.12.1
	github.com/standard-webhooks/standard-webhooks/libraries v0.0.1
	go.uber.org/goleak v1.3.0
)

require (
	github.com/stretchr/testify v1.12.1 // indirect
	golang.org/x/sys v0.49.0 // indirect
)

replace (
	dyno/agent => ../../../agent
	dyno/parts => ../../../parts
)
