package xrpl

import "testing"

func TestRealSignatures(t *testing.T) {
	for name, check := range Checkers() {
		v, all, ledgers := NewVerifier(), 0, real(t)
		if testing.Short() {
			ledgers = ledgers[len(ledgers)-1:]
		}
		for _, l := range ledgers {
			n, err := v.Signatures(&l, check)
			all += n
			if err != nil {
				t.Errorf("%s: ledger %d: %v", name, l.Index, err)
			}
		}
		t.Logf("%s: %d signatures", name, all)
	}
}
