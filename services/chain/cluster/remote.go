package cluster

import (
	"context"
	"encoding/binary"

	"dyno/services/chain/peers"
)

// Bounds of an answer, which has at least one block.
const (
	answerBlocks = 1024
	answerBytes  = 4 << 20
)

// requestNetwork is what a sync needs of a peers.Network.
type requestNetwork interface {
	Request(ctx context.Context, to peers.ID, kind peers.Kind, body []byte) ([]byte, error)
	Blame(id peers.ID, why error)
}

// newRemote is a peer of a network, with its last block.
func newRemote(n requestNetwork, id peers.ID, head uint64) source { return &remote{n, id, head} }

type remote struct {
	network requestNetwork
	id      peers.ID
	head    uint64
}

func (r *remote) ID() string      { return r.id.String() }
func (r *remote) Head() uint64    { return r.head }
func (r *remote) Blame(why error) { r.network.Blame(r.id, why) }

// Fetch implements source.
func (r *remote) Fetch(ctx context.Context, from uint64, n int) ([][]byte, error) {
	return requestBlocks(ctx, r.network, r.id, peers.Blocks, from, n)
}

// requestBlocks asks a peer for at most n blocks, or for what else it serves of each by
// serveBlocks.
func requestBlocks(ctx context.Context, network requestNetwork, id peers.ID, kind peers.Kind, from uint64, n int) ([][]byte, error) {
	n = min(n, answerBlocks)
	question := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint64(nil, from), uint32(n))
	body, err := network.Request(ctx, id, kind, question)
	if err != nil {
		return nil, err
	}
	return peers.Items(body, n)
}

// serveBlocks returns the handler of peers.Blocks over a node's blocks, each as RLP, or of what
// else is requested of blocks. Block returns an error for one that the chain has not.
func serveBlocks(head func() uint64, block func(number uint64) ([]byte, error)) peers.Answer {
	return func(_ context.Context, _ peers.ID, question []byte) (body []byte, err error) {
		if len(question) != 12 {
			return nil, peers.Offencef("a request for blocks of %d bytes", len(question))
		}
		from, n := binary.BigEndian.Uint64(question), uint64(binary.BigEndian.Uint32(question[8:]))
		last := head()
		for i := range min(n, answerBlocks) {
			if from > last || i > last-from {
				break
			}
			raw, err := block(from + i)
			if err != nil {
				return nil, err
			}
			if i > 0 && len(body)+len(raw) > answerBytes {
				break
			}
			body = peers.AppendItems(body, raw)
		}
		return body, nil
	}
}
