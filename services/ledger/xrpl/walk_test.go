package xrpl_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"dyno/services/ledger/signing"
	"dyno/services/ledger/xrpl"
	"dyno/services/ledger/xrpl/sfield"
	"dyno/services/ledger/xrpl/xrpltest"
)

// outline writes values in hex, with the contents of objects and arrays in brackets.
func outline(b []byte) (string, error) {
	var s strings.Builder
	err := xrpl.Walk(b, func(f xrpl.Field) error {
		switch {
		case f.Opens():
			s.WriteString("[")
		case f.Ends():
			s.WriteString("]")
		default:
			s.WriteString(hex.EncodeToString(b[f.ValueStart:f.End]) + " ")
		}
		return nil
	})
	return s.String(), err
}

func TestWalk(t *testing.T) {
	issuer, xrp, noAccount := strings.Repeat("aa", 20), strings.Repeat("00", 20), strings.Repeat("00", 19)+"01"
	for _, c := range []struct{ name, bytes, want string }{
		{"integers", "12 0001 24 00000002 3b 0000000000000003 00 10 10 07", "0001 00000002 0000000000000003 07 "},
		{"codes from 16 on", "20 1b 00000001 70 12 01 ff", "00000001 ff "},
		{"XRP", "61 4000000000000001", "4000000000000001 "},
		{"issued", "61 80" + strings.Repeat("11", 47), "80" + strings.Repeat("11", 47) + " "},
		{"multi-purpose token", "61 60" + strings.Repeat("22", 32), "60" + strings.Repeat("22", 32) + " "},
		{"account", "81 14" + issuer, issuer + " "},
		{"empty account", "81 00", " "},
		{"nested", "f9 ea 7d 01 ff e1 ea e1 f1 31 0000000000000000", "[[ff ][]]0000000000000000 "},
		{"paths", "01 12 01" + issuer + "ff 30" + issuer + issuer + "00", "01" + issuer + "ff30" + issuer + issuer + "00 "},
		{"hashes", "01 13 20" + strings.Repeat("33", 32), strings.Repeat("33", 32) + " "},
		{"XRP as an issue", "03 18" + xrp, xrp + " "},
		{"an issue", "03 18" + issuer + issuer, issuer + issuer + " "},
		{"an issue of a multi-purpose token", "03 18" + issuer + noAccount + "00000001", issuer + noAccount + "00000001 "},
		{"bridge", "01 19 14" + issuer + xrp + "14" + issuer + issuer + issuer, "14" + issuer + xrp + "14" + issuer + issuer + issuer + " "},
		{"currency", "01 1a" + issuer, issuer + " "},
	} {
		b, err := hex.DecodeString(strings.ReplaceAll(c.bytes, " ", ""))
		if err != nil {
			t.Fatal(c.name, err)
		}
		if got, err := outline(b); got != c.want || err != nil {
			t.Errorf("%s: %q, not %q: %v", c.name, got, c.want, err)
		}
		if len(b) > 1 {
			if _, err := outline(b[:len(b)-1]); !errors.Is(err, xrpl.ErrMalformed) {
				t.Errorf("%s: without its last byte: %v", c.name, err)
			}
		}
	}
}

func TestWalkRejects(t *testing.T) {
	for name, b := range map[string][]byte{
		"unknown type":            {0x01, 27, 0},
		"type 12":                 {0xc1, 0, 0, 0, 0},
		"long form of a code":     {0x10, 0x02, 0, 0},
		"end of nothing":          {0xe1},
		"object ended as array":   {0xea, 0xf1},
		"array ended as object":   {0xf9, 0xe1},
		"integer in an array":     {0xf9, 0x12, 0, 0, 0xf1},
		"array in an array":       {0xf9, 0xf9, 0xf1, 0xf1},
		"no end":                  {0xea},
		"deep":                    bytes.Repeat([]byte{0xea}, 1<<20),
		"unknown step of a path":  {0x01, 0x12, 0x02, 0x00},
		"length beyond the bytes": {0x7d, 0xfe, 0xd4, 0x18, 1},
	} {
		if got, err := outline(b); !errors.Is(err, xrpl.ErrMalformed) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

func TestWalkStops(t *testing.T) {
	b := xrpl.Fields(nil).UInt32(sfield.Flags, 1).UInt32(sfield.Sequence, 2)
	for _, stop := range []error{xrpl.ErrStop, errors.New("enough")} {
		n := 0
		err := xrpl.Walk(b, func(xrpl.Field) error { n++; return stop })
		if n != 1 || stop == xrpl.ErrStop && err != nil || stop != xrpl.ErrStop && err != stop {
			t.Errorf("%v after %d fields: %v", stop, n, err)
		}
	}
}

func TestRealFieldsTile(t *testing.T) {
	for _, l := range xrpltest.Ledgers(t) {
		for _, tx := range l.Transactions {
			for _, b := range [][]byte{tx.Blob, tx.Meta} {
				if err := tiles(b); err != nil {
					t.Errorf("ledger %d, transaction %v: %v", l.Index, xrpl.TransactionID(tx.Blob), err)
				}
			}
		}
	}
}

// tiles checks that fields follow one another from the first byte to the last.
func tiles(b []byte) error {
	at, depth := 0, 0
	err := xrpl.Walk(b, func(f xrpl.Field) error {
		if f.Ends() {
			depth--
		}
		if f.Start != at || f.ValueStart <= f.Start || f.End < f.ValueStart || f.Depth != depth || depth > 16 {
			return f.Malformed("it is out of line")
		}
		if at = f.End; f.Opens() {
			depth++
		}
		return nil
	})
	if err == nil && at != len(b) {
		err = errors.New("bytes are left over")
	}
	return err
}

func FuzzWalk(f *testing.F) {
	f.Add([]byte(payment(f, signing.NewKey([]byte("fuzz")), 1).Blob))
	f.Add(payment(f, signing.NewKey([]byte("fuzz")), 1).Meta)
	f.Add([]byte{0x01, 0x19, 0x14, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		if err := tiles(b); err != nil && !errors.Is(err, xrpl.ErrMalformed) {
			t.Error(err)
		}
		if err := tiles(b); err != nil && strings.Contains(err.Error(), "out of line") {
			t.Error(err)
		}
		_ = xrpl.Accounts(b, func(xrpl.AccountID) {})
		_, _ = xrpl.TransactionIndex(b)
	})
}

func TestNothingIsAllocated(t *testing.T) {
	l, v := made(t, 20), xrpl.NewVerifier()
	tx := l.Transactions[3]
	for name, run := range map[string]func(){
		"Verifier.Ledger": func() {
			if _, err := v.Ledger(l); err != nil {
				t.Fatal(err)
			}
		},
		"Walk": func() {
			n := 0
			if err := xrpl.Walk(tx.Meta, func(f xrpl.Field) error { n += f.End; return nil }); err != nil || n == 0 {
				t.Fatal(err)
			}
		},
		"Accounts": func() {
			n := 0
			if err := xrpl.Accounts(tx.Meta, func(xrpl.AccountID) { n++ }); err != nil || n == 0 {
				t.Fatal(err)
			}
		},
	} {
		if n := testing.AllocsPerRun(20, run); n != 0 {
			t.Errorf("%s allocates %v times", name, n)
		}
	}
}
