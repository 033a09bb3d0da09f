package testchain

import (
	"encoding/json"
	"maps"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/crypto"

	"dyno/services/chain/execution"
	"dyno/services/chain/jsonrpc"
)

// mostSignatures bounds those for which ecrecover answers an account that was named.
const mostSignatures = 4096

// impersonateSignature has ecrecover answer an account for a signature. The two are parameters, or a list
// that is the only one, as anvil reads it.
func (c *Chain) impersonateSignature(params json.RawMessage) (any, error) {
	var pair []json.RawMessage
	if jsonrpc.Params(params, 1, &pair) == nil {
		var err error
		if params, err = json.Marshal(pair); err != nil {
			return nil, err
		}
	}
	var signature hexutil.Bytes
	var of common.Address
	if err := jsonrpc.Params(params, 2, &signature, &of); err != nil {
		return nil, err
	}
	return nil, c.know(signature, of)
}

// know adds a signature to those of the settings.
func (c *Chain) know(signature []byte, of common.Address) error {
	if len(signature) != crypto.SignatureLength {
		return jsonrpc.Errorf(jsonrpc.InvalidParams, "a signature has %d bytes (r, s and v), and this one has %d", crypto.SignatureLength, len(signature))
	}
	key := [crypto.SignatureLength]byte(signature)
	if _, known := c.signatures[key]; !known && len(c.signatures) >= mostSignatures {
		return jsonrpc.Errorf(jsonrpc.InvalidParams, "there are %d signatures already: begin again with anvil_reset", mostSignatures)
	}
	if c.signatures == nil {
		c.signatures = execution.Signatures{}
	} else if !c.opening {
		c.signatures = maps.Clone(c.signatures)
	}
	c.signatures[key] = of
	return nil
}

// Signatures implements api.Backend's: the accounts that ecrecover answers.
func (c *Chain) Signatures() execution.Signatures {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.signatures
}
