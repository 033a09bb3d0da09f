package std_test

import (
	"testing"

	"dyno/services/chain/jsonrpc"
	"dyno/services/chain/jsonrpc/jsonrpctest"
	"dyno/services/chain/jsonrpc/std"
)

func TestCodec(t *testing.T) { jsonrpctest.Test(t, newCodec) }

func newCodec() jsonrpc.Codec { return std.Codec{} }

func BenchmarkCodec(b *testing.B) { jsonrpctest.Bench(b, newCodec) }
