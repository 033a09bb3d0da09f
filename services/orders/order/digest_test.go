package order

import (
	"crypto/sha256"
	"testing"
)

func TestDigest(t *testing.T) {
	made := Submission{ClientOrderID: "buy-1", Symbol: "ACME", Side: Buy, Price: 10_125_000_000, Qty: 100_000_000_000, Kind: JSON, Message: []byte("{}")}
	base := made.Digest("A1")
	other := made
	other.ClientOrderID = "buy-2"
	border := made
	border.ClientOrderID = "1" + made.ClientOrderID
	for name, digest := range map[string][sha256.Size]byte{"account": made.Digest("A2"), "id": other.Digest("A1"), "border": border.Digest("A")} {
		if digest == base {
			t.Errorf("another %s has the same digest", name)
		}
	}
	made.Kind, made.Message, made.Account = Pacs008, nil, "A1"
	if made.Digest("A1") != base {
		t.Error("the format changes the digest")
	}
}
