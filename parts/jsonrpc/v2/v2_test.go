package v2_test

import (
	"testing"

	"dyno/parts/jsonrpc"
	"dyno/parts/jsonrpc/jsonrpctest"
	"dyno/parts/jsonrpc/v2"
)

func TestCodec(t *testing.T) { jsonrpctest.Test(t, newCodec) }

func newCodec() jsonrpc.Codec { return v2.Codec{} }

func BenchmarkCodec(b *testing.B) { jsonrpctest.Bench(b, newCodec) }
