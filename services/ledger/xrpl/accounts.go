package xrpl

import (
	"encoding/binary"
	"fmt"

	"dyno/services/ledger/xrpl/sfield"
)

// Accounts calls visit with the accounts that a transaction affects, by its metadata: for each
// ledger entry that it created, changed or removed, the accounts in it, the issuers of its limits
// and offers, and the issuer of the multi-purpose token that it holds. An account may occur more
// than once. The sender is among them, since its entry changes; the Destination of a payment that
// failed is not. Source: TxMeta::getAffectedAccounts of rippled 3.0, on which its account_tx is
// based.
func Accounts(meta []byte, visit func(AccountID)) error {
	err := WalkMeta(meta, func(f Field, n Node) error {
		if f.Depth != 3 || n.Part != sfield.FinalFields && n.Part != sfield.NewFields {
			return nil
		}
		value := meta[f.ValueStart:f.End]
		switch {
		case f.Type == sfield.TypeAccount:
			visitAccount(value, visit)
		case f.ID() >= sfield.TakerPays && f.ID() <= sfield.HighLimit:
			visitAccount(issuer(value), visit)
		case f.ID() == sfield.MPTokenIssuanceID:
			visitAccount(value[mptSize-accountSize:], visit)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("metadata: %w", err)
	}
	return nil
}

// issuer is the last part of an amount that has one: of an issued currency, or of a multi-purpose
// token.
func issuer(amount []byte) []byte {
	if len(amount) <= accountSize { // XRP
		return nil
	}
	return amount[len(amount)-accountSize:]
}

func visitAccount(b []byte, visit func(AccountID)) {
	if len(b) == accountSize && AccountID(b) != (AccountID{}) {
		visit(AccountID(b))
	}
}

// Node is where a walk through metadata is in AffectedNodes. It is zero outside.
type Node struct {
	Entry int       // LedgerEntryType of the node
	Part  sfield.ID // object in the node: PreviousFields, FinalFields or NewFields; zero outside

	inside bool // in AffectedNodes
}

// WalkMeta is Walk for metadata, with the node that a field belongs to.
func WalkMeta(meta []byte, visit func(Field, Node) error) error {
	var n Node
	return Walk(meta, func(f Field) error {
		switch {
		case f.Depth == 0:
			n = Node{inside: f.Is(sfield.AffectedNodes)}
		case !n.inside:
		case f.Depth == 1:
			n = Node{inside: true}
		case f.Depth == 2 && f.Is(sfield.LedgerEntryType):
			n.Entry = int(binary.BigEndian.Uint16(meta[f.ValueStart:]))
		case f.Depth == 2:
			n.Part = 0
			if f.Type == sfield.TypeObject && f.Opens() {
				n.Part = f.ID()
			}
		}
		return visit(f, n)
	})
}

// TransactionIndex returns a transaction's position in its ledger, from its metadata.
func TransactionIndex(meta []byte) (uint32, error) {
	const header = sfield.TypeUInt32 << 4 // its code is above 15, so it follows in a separate byte
	if len(meta) >= 6 && meta[0] == header && int(meta[1]) == sfield.TransactionIndex.Code() {
		return binary.BigEndian.Uint32(meta[2:]), nil // it is the first field in all metadata from the network
	}
	index, found := uint32(0), false
	err := Walk(meta, func(f Field) error {
		if f.Depth > 0 || !f.Is(sfield.TransactionIndex) {
			return nil
		}
		index, found = binary.BigEndian.Uint32(meta[f.ValueStart:]), true
		return ErrStop
	})
	if err == nil && !found {
		err = fmt.Errorf("%w: it has no TransactionIndex", ErrMalformed)
	}
	if err != nil {
		return 0, fmt.Errorf("metadata: %w", err)
	}
	return index, nil
}
