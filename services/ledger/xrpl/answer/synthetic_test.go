package answer

import (
	"encoding/json"
	"reflect"
	"testing"

	"dyno/services/ledger/xrpl"
	"dyno/services/ledger/xrpl/xrpljson"
	"dyno/services/ledger/xrpl/xrpltest"
)

func object(t *testing.T, text string) (o xrpljson.Object) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return o
}

// page is a node of tokens; an empty text leaves a part out.
func page(change, before, after string) string {
	part := "FinalFields"
	if change == "CreatedNode" {
		part = "NewFields"
	}
	node := `"LedgerEntryType":"NFTokenPage"`
	if before != "" {
		node += `,"PreviousFields":{"NFTokens":[` + before + `]}`
	}
	return `{"` + change + `":{` + node + `,"` + part + `":{"NFTokens":[` + after + `]}}}`
}

func token(id string) string { return `{"NFToken":{"NFTokenID":"` + id + `"}}` }

func TestNameTokens(t *testing.T) {
	const offer = `{"CreatedNode":{"LedgerEntryType":"NFTokenOffer","LedgerIndex":"0F","NewFields":{"NFTokenID":"A1"}}}`
	gone := func(id string) string {
		return `{"DeletedNode":{"LedgerEntryType":"NFTokenOffer","LedgerIndex":"0E","FinalFields":{"NFTokenID":"` + id + `"}}}`
	}
	for _, c := range []struct {
		name, kind, nodes string
		want              xrpljson.Object
	}{
		{"minted into a new page", `"NFTokenMint"`, page("CreatedNode", "", token("A1")), xrpljson.Object{"nftoken_id": "A1"}},
		{"minted into a page", `"NFTokenMint"`, page("ModifiedNode", token("A3"), token("A2")+","+token("A3")), xrpljson.Object{"nftoken_id": "A2"}},
		{"minted with a split", `"NFTokenMint"`, page("CreatedNode", "", token("A1")+","+token("A2")) + "," + page("ModifiedNode", token("A1")+","+token("A3"), token("A3")) +
			"," + page("ModifiedNode", "", token("A9")), xrpljson.Object{"nftoken_id": "A2"}},
		{"minted with an offer", `"NFTokenMint","Amount":"1"`, page("CreatedNode", "", token("A1")) + "," + offer, xrpljson.Object{"nftoken_id": "A1", "offer_id": "0F"}},
		{"two in one", `"NFTokenMint"`, page("CreatedNode", "", token("A1")+","+token("A2")), xrpljson.Object{}},
		{"offered", `"NFTokenCreateOffer"`, offer, xrpljson.Object{"offer_id": "0F"}},
		{"accepted, between brokers", `"NFTokenAcceptOffer"`, gone("A1") + "," + gone("A1"), xrpljson.Object{"nftoken_id": "A1"}},
		{"cancelled", `"NFTokenCancelOffer"`, gone("A2") + "," + gone("A1") + "," + gone("A2"), xrpljson.Object{"nftoken_ids": []string{"A1", "A2"}}},
		{"a payment", `"Payment"`, offer, xrpljson.Object{}},
	} {
		for result, want := range map[string]xrpljson.Object{"tesSUCCESS": c.want, "tecNO_ENTRY": {}} {
			meta := object(t, `{"TransactionResult":"`+result+`","AffectedNodes":[`+c.nodes+`]}`)
			nameTokens(object(t, `{"TransactionType":`+c.kind+`}`), meta)
			delete(meta, "AffectedNodes")
			delete(meta, "TransactionResult")
			if !reflect.DeepEqual(meta, want) {
				t.Errorf("%s, %s: %v, want %v", c.name, result, meta, want)
			}
		}
	}
}

func TestNameIssuance(t *testing.T) {
	issuer := xrpl.AccountID{1, 2}
	meta := xrpljson.Object{"TransactionResult": "tesSUCCESS", "AffectedNodes": []any{xrpljson.Object{"CreatedNode": xrpljson.Object{
		"LedgerEntryType": "MPTokenIssuance", "NewFields": xrpljson.Object{"Issuer": issuer.String(), "Sequence": uint32(0x1234)}}}}}
	nameIssuance(xrpljson.Object{"TransactionType": "MPTokenIssuanceCreate"}, meta)
	if want := "00001234" + xrpl.Hex(issuer[:]); meta["mpt_issuance_id"] != want {
		t.Errorf("%v, want %s", meta["mpt_issuance_id"], want)
	}
}

// Real transactions have their places' names, also where a network is named in them.
func TestRealTransactions(t *testing.T) {
	network := uint32(0)
	for _, l := range xrpltest.Ledgers(t) {
		p, err := NewPage(l)
		if err != nil {
			t.Fatal(err)
		}
		for _, tx := range l.Transactions {
			index, err := xrpl.TransactionIndex(tx.Meta)
			if err != nil {
				t.Fatal(err)
			}
			c, ok := ParseCTID(NameOf(l.Index, tx, &network))
			if !ok || c.Index != l.Index || c.Position != index {
				t.Errorf("ledger %d, %d: %+v, %v", l.Index, index, c, ok)
			}
			for version := 1; version <= 2; version++ {
				if _, err := p.Found(tx, version, false, &network); err != nil {
					t.Errorf("ledger %d, %d, version %d: %v", l.Index, index, version, err)
				}
			}
		}
	}
}

// The highest place that fits, and what does not.
func TestCTID(t *testing.T) {
	if got := (CTID{Index: 0xFFF_FFFE, Position: 0xFFFF, Network: 0xFFFE}).String(); got != "CFFFFFFEFFFFFFFE" {
		t.Error(got)
	}
	for _, c := range []CTID{{Index: 1<<28 - 1}, {Position: 1 << 16}, {Network: 1<<16 - 1}} {
		if got := c.String(); got != "" {
			t.Errorf("%+v: %s", c, got)
		}
	}
}

func FuzzCTID(f *testing.F) {
	f.Add("C005523E00000000")
	f.Add("b000000000000000")
	f.Fuzz(func(t *testing.T, text string) {
		c, ok := ParseCTID(text)
		if again := c.String(); ok && again != "" {
			if d, ok := ParseCTID(again); !ok || d != c {
				t.Errorf("%q is %+v, which is %s, which is %+v", text, c, again, d)
			}
		}
	})
}
