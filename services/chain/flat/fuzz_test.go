package flat

import (
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/rlp"
)

// Whatever is in a record of the journal, it is changes or an error.
func FuzzDecodeChanges(f *testing.F) {
	text, err := rlp.EncodeToBytes(&journalled{mark{Number: 1}, []common.Address{{1}}, []record{{Address: common.Address{2}}, {common.Address{3}, []byte{4}, []byte{5}}}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Fuzz(func(t *testing.T, text []byte) {
		if c, err := decodeChanges(text); err == nil && c == nil {
			t.Error("nothing")
		}
	})
}
