package xrpl

import (
	"encoding/binary"
	"fmt"
)

// Types of ledger entries (LedgerEntryType) that this package knows.
const (
	entryAccountRoot = 0x61
	entryTicket      = 0x54
)

// Accounts calls visit with the accounts that a transaction affects: its own Account and
// Destination, and for each ledger entry that it created, changed or removed, the accounts in it
// and the issuers of its limits and offers. An account may occur more than once. Source:
// TxMeta::getAffectedAccounts, on which rippled's account_tx is based.
func Accounts(blob, meta []byte, visit func(AccountID)) error {
	err := Walk(blob, func(f Field) error {
		if f.Depth == 0 && (f.Is(typeAccount, codeAccount) || f.Is(typeAccount, codeDestination)) {
			visitAccount(blob[f.ValueStart:f.End], visit)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("transaction: %w", err)
	}
	var n nodes
	err = Walk(meta, func(f Field) error {
		n.enter(f, meta)
		if f.Depth != 3 || n.part != codeFinalFields && n.part != codeNewFields {
			return nil
		}
		value := meta[f.ValueStart:f.End]
		switch {
		case f.Type == typeAccount:
			visitAccount(value, visit)
		case f.Type == typeAmount && f.Code >= codeTakerPays && f.Code <= codeHighLimit && len(value) == 8+currencySize+accountSize:
			visitAccount(value[8+currencySize:], visit)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("metadata: %w", err)
	}
	return nil
}

func visitAccount(b []byte, visit func(AccountID)) {
	if len(b) == accountSize && AccountID(b) != (AccountID{}) {
		visit(AccountID(b))
	}
}

// nodes is the position of a walk through metadata: where it is in AffectedNodes.
type nodes struct {
	inside bool // in AffectedNodes
	entry  int  // LedgerEntryType of the node
	part   int  // code of the object in the node (PreviousFields, FinalFields, NewFields), zero outside
}

func (n *nodes) enter(f Field, meta []byte) {
	switch {
	case f.Depth == 0:
		*n = nodes{inside: f.Is(typeArray, codeAffectedNodes)}
	case !n.inside:
	case f.Depth == 1:
		n.entry, n.part = 0, 0
	case f.Depth == 2 && f.Is(typeUInt16, codeLedgerEntryType):
		n.entry = int(binary.BigEndian.Uint16(meta[f.ValueStart:]))
	case f.Depth == 2:
		n.part = 0
		if f.Type == typeObject && f.Opens() {
			n.part = f.Code
		}
	}
}

// TransactionIndex returns a transaction's position in its ledger, from its metadata.
func TransactionIndex(meta []byte) (uint32, error) {
	const header = typeUInt32 << 4 // its code is above 15, so it follows in a separate byte
	if len(meta) >= 6 && meta[0] == header && meta[1] == codeTransactionIndex {
		return binary.BigEndian.Uint32(meta[2:]), nil // it is the first field in all metadata from the network
	}
	index, found := uint32(0), false
	err := Walk(meta, func(f Field) error {
		if f.Depth > 0 || !f.Is(typeUInt32, codeTransactionIndex) {
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
