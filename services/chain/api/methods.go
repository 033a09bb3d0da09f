package api

import (
	"context"

	"github.com/ethereum/go-ethereum/common/hexutil"

	"dyno/parts/jsonrpc"
)

// Methods returns the methods by name. Those of other packages are added with maps.Copy.
func Methods(b Backend) map[string]jsonrpc.Method {
	return map[string]jsonrpc.Method{
		"eth_chainId": constant((*hexutil.Big)(b.Genesis.Config.ChainID)),
		"eth_syncing": constant(false),
		"net_version": constant(b.Genesis.Config.ChainID.String()),
	}
}

// constant returns a method without parameters and with one answer.
func constant(answer any) jsonrpc.Method {
	return func(_ context.Context, params []byte) (any, error) {
		return answer, jsonrpc.Params(params, 0)
	}
}
