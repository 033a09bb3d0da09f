package cluster

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"dyno/services/chain/api"
	"dyno/services/chain/blocksync"
	"dyno/services/chain/jsonrpc"
	"dyno/services/chain/node"
	"dyno/services/chain/peers"
	"dyno/services/chain/peers/identity"
)

// maxForwarded bounds the transactions of a request, and patience its answer.
const (
	maxForwarded = 64 << 10
	patience     = 10 * time.Second
)

// serve answers requests of peers.
func serve(network *peers.Network, n *node.Node, leads func() bool) {
	c := n.Chain()
	head := func() uint64 { return c.Head().Number.Uint64() }
	network.Serve(peers.Blocks, blocksync.Serve(head, c.Blocks.RawBlock))
	network.Serve(peers.Hashes, blocksync.Serve(head, func(number uint64) ([]byte, error) {
		hash, err := c.HashOf(number)
		return hash[:], err
	}))
	network.Serve(peers.Submit, func(ctx context.Context, _ identity.ID, body []byte) ([]byte, error) {
		raws, err := peers.Items(append([]byte(nil), body...), maxForwarded) // the node keeps them
		if err != nil {
			return nil, &peers.Offence{Err: err}
		}
		if !leads() { // otherwise two nodes might forward to each other
			return nil, node.ErrLeader
		}
		return encode(n.Submit(ctx, raws)), nil
	})
}

// Forward implements node.Shared.
func (j *Journal) Forward(ctx context.Context, raws [][]byte) []api.Submitted {
	return forward(ctx, j.network, j.ids[j.raft.Leader()], raws, j.o.Log)
}

// forward has a peer accept transactions.
func forward(ctx context.Context, network *peers.Network, leader identity.ID, raws [][]byte, log *slog.Logger) []api.Submitted {
	out, err := ask(ctx, network, leader, raws)
	if err == nil {
		return out
	}
	log.DebugContext(ctx, "transactions were not forwarded", "error", err)
	out = make([]api.Submitted, len(raws))
	for i := range out {
		out[i].Err = node.ErrLeader
	}
	return out
}

func ask(ctx context.Context, network *peers.Network, leader identity.ID, raws [][]byte) ([]api.Submitted, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	body, err := network.Request(ctx, leader, peers.Submit, peers.AppendItems(nil, raws...))
	if err != nil {
		return nil, err
	}
	out, err := decode(body)
	if err == nil && len(out) != len(raws) {
		err = fmt.Errorf("the leader answers for %d transactions of %d", len(out), len(raws))
	}
	return out, err
}

// encode writes what became of transactions: a hash, or a code and a text.
func encode(all []api.Submitted) (body []byte) {
	for _, s := range all {
		if s.Err == nil {
			body = peers.AppendItems(body, s.Hash[:], nil)
			continue
		}
		e := jsonrpc.AsError(s.Err)
		body = peers.AppendItems(body, binary.BigEndian.AppendUint32(nil, uint32(int32(e.Code))), []byte(e.Message))
	}
	return body
}

// decode reads what encode wrote.
func decode(body []byte) (all []api.Submitted, err error) {
	items, err := peers.Items(body, 2*maxForwarded)
	if err != nil || len(items)%2 != 0 {
		return nil, errors.Join(errors.New("the leader's answer is malformed"), err)
	}
	for i := 0; i < len(items); i += 2 {
		switch len(items[i]) {
		case common.HashLength:
			all = append(all, api.Submitted{Hash: common.Hash(items[i])})
		case 4:
			code := int(int32(binary.BigEndian.Uint32(items[i])))
			all = append(all, api.Submitted{Err: jsonrpc.Errorf(code, "%s", items[i+1])})
		default:
			return nil, errors.New("the leader's answer is malformed")
		}
	}
	return all, nil
}
