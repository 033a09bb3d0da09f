package answer

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"

	"dyno/services/ledger/xrpl"
	"dyno/services/ledger/xrpl/sfield"
)

// CTID names a transaction by its place: 28 bits of the ledger's index, 16 of the transaction's
// position in it, 16 of the network's id. Source: XLS-37.
type CTID struct {
	Index    uint32
	Position uint32
	Network  uint32
}

const (
	ctidMark     = 0xC << 28 // the first hex digit
	maxCTIDIndex = 1<<28 - 1
	maxCTIDRest  = 1<<16 - 1
)

// String is 16 hex digits; "" where a part does not fit. As in rippled, the highest values of the
// index and of the network's id do not fit either.
func (c CTID) String() string {
	if c.Index >= maxCTIDIndex || c.Position > maxCTIDRest || c.Network >= maxCTIDRest {
		return ""
	}
	return fmt.Sprintf("%08X%04X%04X", ctidMark|c.Index, c.Position, c.Network)
}

// ParseCTID reads 16 hex digits, of which the first is C.
func ParseCTID(text string) (c CTID, ok bool) {
	b, err := hex.DecodeString(text)
	if err != nil || len(b) != 8 || b[0]>>4 != 0xC {
		return c, false
	}
	n := binary.BigEndian.Uint64(b)
	return CTID{uint32(n>>32) & maxCTIDIndex, uint32(n>>16) & maxCTIDRest, uint32(n) & maxCTIDRest}, true
}

// NameOf is the CTID of a ledger's transaction, "" if it has none. The network is the one that the
// transaction names, else the given one (nil: not known).
func NameOf(index uint32, tx xrpl.Transaction, network *uint32) string {
	if network == nil {
		return ""
	}
	c := CTID{Index: index, Network: *network}
	var err error
	if c.Position, err = xrpl.TransactionIndex(tx.Meta); err != nil {
		return ""
	}
	if err := xrpl.WalkOutermost(tx.Blob, func(f xrpl.Field, value []byte) {
		if f.Is(sfield.NetworkID) {
			c.Network = binary.BigEndian.Uint32(value)
		}
	}); err != nil {
		return ""
	}
	return c.String()
}
