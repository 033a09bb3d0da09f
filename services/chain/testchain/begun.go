package testchain

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
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

// begunAs makes a chain to which no call was made the fork that is named. One that is a fork stays it, and asks the
// node where it is named now. Its id is that of the node, unless the caller named it or the genesis.
func (c *Chain) begunAs(ctx context.Context, named bool) error {
	f := c.o.Fork
	if own := c.genesis.Config.ChainID; f.ID > 0 && (!own.IsUint64() || own.Uint64() != f.ID) {
		return fmt.Errorf("its id is %v and not %d; choose another folder with --data", own, f.ID)
	}
	var err error
	first, next := c.log.Bounds()
	switch at := c.originURL(); {
	case f.URL == "" || f.URL == at:
		return nil
	case at != "":
		var params []byte
		if params, err = json.Marshal([]string{f.URL}); err == nil {
			_, err = c.moveOrigin(ctx, params)
		}
	case next-first > 1: // beside the genesis
		return errors.New("calls were made to it, which a fork would not have, and it is no fork; choose another folder with --data")
	default:
		if !named {
			err = c.idOf(ctx, f)
		}
		of := &forking{JSONRPCURL: f.URL}
		if f.Block != "" {
			of.BlockNumber = json.RawMessage(strconv.Quote(f.Block))
		}
		if err == nil {
			_, err = c.forkOf(ctx, of)
		}
	}
	return err
}

// idOf refuses a fork whose id is not that of the node which is forked.
func (c *Chain) idOf(ctx context.Context, f Fork) error {
	id, err := f.id(ctx)
	if own := c.genesis.Config.ChainID; err == nil && own.Cmp(new(big.Int).SetUint64(id)) != 0 {
		err = fmt.Errorf("its id is %v, and that of the node that is forked %d; choose another folder with --data, or keep its id with --chain-id %v", own, id, own)
	}
	return err
}
