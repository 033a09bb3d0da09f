// Package orders is the order gateway.
package orders

import (
	_ "github.com/bits-and-blooms/bloom/v3"
	_ "github.com/fergusstrange/embedded-postgres"
	_ "github.com/go-jose/go-jose/v4"
	_ "github.com/go-jose/go-jose/v4/jwt"
	_ "github.com/go-json-experiment/json"
	_ "github.com/jackc/pgx/v5/pgconn"
	_ "github.com/jackc/pgx/v5/pgproto3"
	_ "github.com/jackc/pgx/v5/pgxpool"
	_ "github.com/jackc/pgx/v5/stdlib"
	_ "github.com/klauspost/compress/zstd"
	_ "github.com/maypok86/otter/v2"
	_ "github.com/sony/gobreaker/v2"
	_ "github.com/valyala/fasthttp"
	_ "github.com/valyala/fasthttp/fasthttputil"
	_ "github.com/vmihailenco/msgpack/v5"
	_ "golang.org/x/sync/semaphore"
)
