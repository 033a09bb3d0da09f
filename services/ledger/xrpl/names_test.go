package xrpl

import "testing"

func TestNames(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{FieldName(1, 2), "TransactionType"}, {FieldName(15, 31), "BatchSigners"}, {FieldName(2, 41), "TicketSequence"},
		{FieldName(2, 255), ""}, {FieldName(-1, 0), ""}, {FieldName(0, 256), ""},
		{TransactionName(0), "Payment"}, {TransactionName(71), "Batch"}, {TransactionName(102), "UNLModify"}, {TransactionName(9999), ""},
		{EntryName(97), "AccountRoot"}, {EntryName(1), ""},
		{ResultName(0), "tesSUCCESS"}, {ResultName(104), "tecUNFUNDED_PAYMENT"}, {ResultName(99), ""},
	} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
}
