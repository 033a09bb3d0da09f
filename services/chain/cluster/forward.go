package cluster

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"dyno/services/chain/node"
	"dyno/services/chain/peers"
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
	network.Serve(peers.Blocks, serveBlocks(head, c.Blocks.RawBlock))
	network.Serve(peers.Hashes, serveBlocks(head, func(number uint64) ([]byte, error) {
		hash, err := c.HashOf(number)
		return hash[:], err
	}))
	network.Serve(peers.Submit, func(ctx context.Context, _ peers.ID, body []byte) ([]byte, error) {
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
func (j *Journal) Forward(ctx context.Context, raws [][]byte) []node.Submitted {
	return forward(ctx, j.network, j.ids[j.raft.Leader()], raws, j.o.Log)
}

// forward has a peer accept transactions.
func forward(ctx context.Context, network *peers.Network, leader peers.ID, raws [][]byte, log *slog.Logger) []node.Submitted {
	out, err := ask(ctx, network, leader, raws)
	if err == nil {
		return out
	}
	log.DebugContext(ctx, "transactions were not forwarded", "error", err)
	out = make([]node.Submitted, len(raws))
	for i := range out {
		out[i].Err = node.ErrLeader
	}
	return out
}

func ask(ctx context.Context, network *peers.Network, leader peers.ID, raws [][]byte) ([]node.Submitted, error) {
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

// Codes of refusals between nodes. They never change, so that nodes of different versions
// understand each other; JSON-RPC has the same.
const (
	codeRefused    = -32000 // for any other reason
	codeOverloaded = -32005
	codeFailed     = -32603
)

// refusal is what the leader has refused with, in its words.
type refusal struct {
	text string
	kind error // nil: codeRefused
}

func (r *refusal) Error() string { return r.text }

func (r *refusal) Unwrap() error { return r.kind }

// encode writes what became of transactions: a hash, or a code and a text.
func encode(all []node.Submitted) (body []byte) {
	for _, s := range all {
		if s.Err == nil {
			body = peers.AppendItems(body, s.Hash[:], nil)
			continue
		}
		code := int32(codeRefused)
		switch {
		case errors.Is(s.Err, node.ErrOverloaded):
			code = codeOverloaded
		case errors.Is(s.Err, node.ErrFailed):
			code = codeFailed
		}
		body = peers.AppendItems(body, binary.BigEndian.AppendUint32(nil, uint32(code)), []byte(s.Err.Error()))
	}
	return body
}

// decode reads what encode wrote.
func decode(body []byte) (all []node.Submitted, err error) {
	items, err := peers.Items(body, 2*maxForwarded)
	if err != nil || len(items)%2 != 0 {
		return nil, errors.Join(errors.New("the leader's answer is malformed"), err)
	}
	for i := 0; i < len(items); i += 2 {
		switch len(items[i]) {
		case common.HashLength:
			all = append(all, node.Submitted{Hash: common.Hash(items[i])})
		case 4:
			r := &refusal{text: string(items[i+1])}
			switch int32(binary.BigEndian.Uint32(items[i])) {
			case codeOverloaded:
				r.kind = node.ErrOverloaded
			case codeFailed:
				r.kind = node.ErrFailed
			}
			all = append(all, node.Submitted{Err: r})
		default:
			return nil, errors.New("the leader's answer is malformed")
		}
	}
	return all, nil
}
