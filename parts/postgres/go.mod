module dyno/parts/postgres

go 1.26.0

require (
	dyno/agent v0.0.0
	dyno/parts v0.0.0
	github.com/jackc/pgx/v5 v5.12.0
	github.com/xi2/xz v0.0.0-20171230120015-48954b6210f8
	go.uber.org/goleak v1.3.0
	golang.org/x/sys v0.49.0
	pgregory.net/rapid v1.3.0
)

require (
	github.com/jackc/pgpassfile v1.0.0 // indirect
	github.com/jackc/pgservicefile v0.0.0-20240606120523-5a60cdf6a761 // indirect
	github.com/stretchr/testify v1.12.1 // indirect
	golang.org/x/text v0.43.0 // indirect
)

replace (
	dyno/agent => ../../agent
	dyno/parts => ..
)
