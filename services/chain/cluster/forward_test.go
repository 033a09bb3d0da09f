package cluster

import (
	"encoding/hex"
	"errors"
	"testing"

	"github.com/ethereum/go-ethereum/common"

	"dyno/services/chain/node"
	"dyno/services/chain/peers"
)

// Nodes of different versions read each other's answers: the bytes stay what they are.
func TestAnswersBetweenNodes(t *testing.T) {
	same := errors.New("nonce too low")
	for _, tt := range []struct {
		err  error
		code string // of the wire
		is   error  // at the follower
	}{
		{same, "ffff8300", nil},
		{node.ErrOverloaded, "ffff82fb", node.ErrOverloaded},
		{node.ErrFailed, "ffff80a5", node.ErrFailed},
	} {
		body := encode([]node.Submitted{{Err: tt.err}, {Hash: common.Hash{7}}})
		items, err := peers.Items(body, 4)
		if err != nil || len(items) != 4 || hex.EncodeToString(items[0]) != tt.code || string(items[1]) != tt.err.Error() ||
			common.Hash(items[2]) != (common.Hash{7}) || len(items[3]) != 0 {
			t.Errorf("%v is written as %x, %v", tt.err, items, err)
		}
		all, err := decode(body)
		if err != nil || len(all) != 2 || all[1].Err != nil || all[1].Hash != (common.Hash{7}) {
			t.Fatalf("%v, %v", all, err)
		}
		if got := all[0].Err; got.Error() != tt.err.Error() || tt.is != nil && !errors.Is(got, tt.is) ||
			tt.is == nil && (errors.Is(got, node.ErrOverloaded) || errors.Is(got, node.ErrFailed)) {
			t.Errorf("%v arrives as %v", tt.err, got)
		}
		if again := encode(all); string(again) != string(body) {
			t.Errorf("%v, passed on: %x, want %x", tt.err, again, body)
		}
	}
	for name, body := range map[string][]byte{
		"an odd number": peers.AppendItems(nil, make([]byte, 32)),
		"neither":       peers.AppendItems(nil, make([]byte, 5), nil),
		"cut off":       peers.AppendItems(nil, make([]byte, 32), nil)[:8],
	} {
		if all, err := decode(body); err == nil {
			t.Errorf("%s: %v", name, all)
		}
	}
}
