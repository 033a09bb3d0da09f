package jsonrpc_test

import (
	"testing"

	"dyno/services/chain/jsonrpc"
	"dyno/services/chain/jsonrpc/jsonrpctest"
)

func TestStd(t *testing.T) { jsonrpctest.Test(t, newStd) }

func newStd() jsonrpc.Codec { return jsonrpc.Std{} }
