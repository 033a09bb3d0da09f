package names

import "testing"

func TestNames(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{Field(1, 2), "TransactionType"}, {Field(15, 31), "BatchSigners"}, {Field(2, 41), "TicketSequence"},
		{Field(2, 255), ""}, {Field(-1, 0), ""}, {Field(0, 256), ""},
		{Transaction(0), "Payment"}, {Transaction(71), "Batch"}, {Transaction(102), "UNLModify"}, {Transaction(9999), ""},
		{Entry(97), "AccountRoot"}, {Entry(1), ""},
		{Result(0), "tesSUCCESS"}, {Result(104), "tecUNFUNDED_PAYMENT"}, {Result(99), ""},
	} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
}
