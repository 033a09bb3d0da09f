package testchain

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/ethereum/go-ethereum/common/hexutil"

	"dyno/services/chain/genesis"
)

// Fork is what a chain begins as. The zero value is no fork, with the id of anvil's and Hardhat's.
type Fork struct {
	URL   string // of the node that is forked; "": none
	Block string // its number; "": the last
	ID    uint64 // of a new chain; 0: that of the node that is forked, or of the zero value
}

// id is that of a new chain.
func (f Fork) id(ctx context.Context) (uint64, error) {
	if f.ID > 0 || f.URL == "" {
		return cmp.Or(f.ID, genesis.TestID), nil
	}
	u, err := newUpstream(f.URL)
	if err != nil {
		return 0, err
	}
	defer u.close()
	var id hexutil.Uint64
	if err := u.ask(newAsking(ctx), question{"eth_chainId", []any{}, &id}); err != nil {
		return 0, err
	}
	if id == 0 {
		return 0, errors.New("the node that is forked answers the chain id 0: name another one for this chain with --chain-id")
	}
	return uint64(id), nil
}

// begunAs makes a chain that has no blocks the fork that is named. One that is a fork stays it, and asks the node
// where it is named now.
func (c *Chain) begunAs(ctx context.Context) error {
	f := c.o.Fork
	if own := c.genesis.Config.ChainID; f.ID > 0 && (!own.IsUint64() || own.Uint64() != f.ID) {
		return fmt.Errorf("its id is %v and not %d; choose another folder with --data", own, f.ID)
	}
	var err error
	switch at := c.originURL(); {
	case f.URL == "" || f.URL == at:
		return nil
	case at != "":
		var params []byte
		if params, err = json.Marshal([]string{f.URL}); err == nil {
			_, err = c.moveOrigin(ctx, params)
		}
	case len(c.blocks) > 1:
		return errors.New("it has blocks and is no fork; choose another folder with --data")
	default:
		named := &forking{JSONRPCURL: f.URL}
		if f.Block != "" {
			named.BlockNumber = json.RawMessage(strconv.Quote(f.Block))
		}
		_, err = c.forkOf(ctx, named)
	}
	return err
}
