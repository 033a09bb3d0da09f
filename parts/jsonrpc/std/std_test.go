package std_test

import (
	"testing"

	"dyno/parts/jsonrpc"
	"dyno/parts/jsonrpc/jsonrpctest"
	"dyno/parts/jsonrpc/std"
)

func TestCodec(t *testing.T) { jsonrpctest.Test(t, newCodec) }

func newCodec() jsonrpc.Codec { return std.Codec{} }

func BenchmarkCodec(b *testing.B) { jsonrpctest.Bench(b, newCodec) }
