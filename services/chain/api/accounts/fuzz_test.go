package accounts_test

import (
	"errors"
	"testing"

	"github.com/ethereum/go-ethereum/core/types"

	"dyno/services/chain/api"
	"dyno/services/chain/api/accounts"
	"dyno/services/chain/genesis"
	"dyno/services/chain/jsonrpc"
)

// states has a head, and no state of it.
type states struct{ api.States }

func (states) Head() *types.Header { return genesis.Development().Block().Header() }

// Whatever a client sends, it gets an answer.
func FuzzParams(f *testing.F) {
	const first = `"0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266"`
	f.Add(`[{"from":` + first + `,"to":` + first + `,"gas":"0x5208","nonce":"0x0","maxFeePerGas":"0x1","maxPriorityFeePerGas":"0x1","authorizationList":[],"accessList":[]}]`)
	f.Add(`[` + first + `,{"types":{"X":[{"name":"a","type":"uint256[2][]"}]},"primaryType":"X","domain":{"chainId":"0x1"},"message":{"a":[[1,2]]}}]`)
	f.Add(`[` + first + `,"0x00"]`)
	g := genesis.Development()
	node := api.Backend{Genesis: g, States: states{}, Pool: api.ReadOnly{}}
	all := accounts.Methods(node, genesis.Keys()[:1], map[string]jsonrpc.Method{})
	f.Fuzz(func(t *testing.T, params string) {
		for _, name := range []string{"eth_accounts", "eth_sign", "personal_sign", "eth_signTypedData_v4", "eth_signTransaction"} {
			if _, err := all[name](t.Context(), []byte(params)); err != nil && (err.Error() == "" || errors.Is(err, errors.ErrUnsupported)) {
				t.Error("an error without a text")
			}
		}
	})
}
