package message

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"dyno/services/orders/message/messagetest"
	"dyno/services/orders/order"
)

// fields converts tag=value|tag=value to FIX.
func fields(text string) string { return strings.ReplaceAll(text, "|", "\x01") }

const validFIX = "35=D|49=S|56=T|34=1|52=20260102-15:04:05|11=c1|1=A1|55=ACME|54=1|60=20260102-15:04:05.678|38=2|40=2|44=1.5|59=0|"

func TestFIXAccepted(t *testing.T) {
	want := order.Submission{Kind: order.FIX, ClientOrderID: "c1", Account: "A1", Symbol: "ACME", Side: order.Buy, Price: 1_50000000, Qty: 2_00000000}
	for _, c := range [][2]string{
		{"", ""},
		{"34=1|", "43=Y|97=N|34=2147483647|122=20260102-15:04:04|"}, // resent
		{":05.678", ":05.678901"},
		{":05.678", ":05.678901234"},
		{"15:04:05.678", "23:59:60"}, // a leap second
		{"1.5", "001.50000000000"},
		{"59=0|", "58=a=b; c|9999=x|65535=y|"},
		{"59=0|", "95=5|96=\x0110=\x01|354=3|355=a\x00\xff|"},
		{"59=0|", "453=2|448=p|447=D|452=1|802=2|523=a|803=1|523=b|803=2|448=q|447=D|452=3|802=1|523=c|803=1|"},
		{"59=0|", "711=2|311=a|362=1|363=x|311=b|362=1|363=y|457=1|458=z|459=1|"},
		{"59=0|", "453=0|"},
		{"34=1|", "90=3|91=\x01\x01\x01|34=1|"},
	} {
		body := messagetest.Frame(fields(strings.Replace(validFIX, c[0], c[1], 1)))
		if got, err := Parse("application/fix", body); err != nil || !equal(got, want) {
			t.Errorf("%q: %+v %v", body, got, err)
		}
	}
	for _, c := range []struct {
		old, new string
		change   func(*order.Submission)
	}{
		{"54=1", "54=2", func(s *order.Submission) { s.Side = order.Sell }},
		{"1=A1|", "", func(s *order.Submission) { s.Account = "" }},
		{"40=2|44=1.5|", "40=1|", func(s *order.Submission) { s.Price = 0 }},
	} {
		want := want
		c.change(&want)
		if got, err := Parse("application/fix", messagetest.Frame(fields(strings.Replace(validFIX, c.old, c.new, 1)))); err != nil || !equal(got, want) {
			t.Errorf("%s: %+v %v", c.new, got, err)
		}
	}
}

func TestFIXRefused(t *testing.T) {
	for _, c := range []struct{ old, new, field, text string }{
		// missing fields
		{"35=D|", "", "MsgType (35)", "third field"},
		{"49=S|", "", "SenderCompID (49)", "missing"},
		{"56=T|", "", "TargetCompID (56)", "missing"},
		{"34=1|", "", "MsgSeqNum (34)", "missing"},
		{"52=20260102-15:04:05|", "", "SendingTime (52)", "missing"},
		{"11=c1|", "", "ClOrdID (11)", "missing"},
		{"55=ACME|", "", "Symbol (55)", "missing"},
		{"54=1|", "", "Side (54)", "missing"},
		{"60=20260102-15:04:05.678|", "", "TransactTime (60)", "missing"},
		{"38=2|", "", "OrderQty (38)", "missing"},
		{"40=2|", "", "OrdType (40)", "missing"},
		{"44=1.5|", "", "Price (44)", "a limit order (40=2) needs one"},
		// values
		{"35=D|", "35=8|", "MsgType (35)", "only NewOrderSingle"},
		{"34=1|", "34=0|", "MsgSeqNum (34)", "above 0"},
		{"34=1|", "34=2147483648|", "MsgSeqNum (34)", "above 0"},
		{"34=1|", "34=99999999999999999999|", "MsgSeqNum (34)", "above 0"},
		{"34=1|", "43=1|34=1|", "PossDupFlag (43)", "neither Y nor N"},
		{"11=c1|", "11=" + strings.Repeat("x", 65) + "|", "ClOrdID (11)", "1 to 64"},
		{"1=A1|", "1=A/1|", "Account (1)", "is no account"},
		{"55=ACME|", "55=acme|", "Symbol (55)", "is no symbol"},
		{"54=1|", "54=5|", "Side (54)", "neither 1 (buy) nor 2 (sell)"},
		{"38=2|", "38=0|", "OrderQty (38)", "not above 0"},
		{"38=2|", "38=-2|", "OrderQty (38)", "not above 0"},
		{"38=2|", "38=2e3|", "OrderQty (38)", "no decimal number"},
		{"40=2|", "40=3|", "OrdType (40)", "neither 1 (market) nor 2 (limit)"},
		{"40=2|", "40=1|", "Price (44)", "leave it out"},
		{"44=1.5|", "44=0|", "Price (44)", "not above 0"},
		{"59=0|", "59=6|", "TimeInForce (59)", "none of 0 (day)"},
		{"20260102-15:04:05.678", "2026-01-02T15:04:05Z", "TransactTime (60)", "20260102-15:04:05.678"},
		{"20260102-15:04:05.678", "20260230-15:04:05", "TransactTime (60)", "no UTC time"},
		{"20260102-15:04:05.678", "20260102-24:04:05", "TransactTime (60)", "no UTC time"},
		{"20260102-15:04:05.678", "20260102-15:04:61", "TransactTime (60)", "no UTC time"},
		{"20260102-15:04:05.678", "20260102-1:04:05.1", "TransactTime (60)", "no UTC time"},
		{"20260102-15:04:05.678", "20260102-15:04:05,678", "TransactTime (60)", "no UTC time"},
		{"20260102-15:04:05.678", "20260102-15:04:05.67", "TransactTime (60)", "no UTC time"},
		{"20260102-15:04:05|", "yesterday|", "SendingTime (52)", "no UTC time"},
		// fields
		{"44=1.5|", "44=|", "Price (44)", "no value"},
		{"44=1.5|", "44|", "", "no tag=value"},
		{"44=1.5|", "|", "", "no tag=value"},
		{"44=1.5|", "=1.5|", "", "no tag=value"},
		{"44=1.5|", "044=1.5|", "", "no tag=value"},
		{"44=1.5|", "0=1.5|", "", "no tag=value"},
		{"44=1.5|", "-44=1.5|", "", "no tag=value"},
		{"44=1.5|", "x=1.5|", "", "no tag=value"},
		{"44=1.5|", "65536=1|", "", "from 1 to 65535"},
		{"44=1.5|", "18446744073709551660=1|", "", "no tag=value"},
		{"59=0|", "58=" + strings.Repeat("x", 1025) + "|", "Text (58)", "the most is 1024"},
		{"59=0|", "58=a\x00b|", "Text (58)", "0x00"},
		{"59=0|", "58=a\nb|", "Text (58)", "0x0a"},
		{"59=0|", "58=é|", "Text (58)", "printable ASCII"},
		// order and repetition
		{"59=0|", "59=0|59=0|", "TimeInForce (59)", "given twice"},
		{"59=0|", "55=ACME|", "Symbol (55)", "given twice"},
		{"59=0|", "9001=a|9001=b|", "tag 9001", "given twice"},
		{"49=S|", "49=S|35=D|", "MsgType (35)", "given twice"},
		{"59=0|", "50=x|", "tag 50", "belongs to the header"},
		{"59=0|", "10=123|59=0|", "CheckSum (10)", "frames"},
		{"59=0|", "9=5|", "BodyLength (9)", "frames"},
		{"59=0|", "8=FIX.4.4|", "BeginString (8)", "frames"},
		// groups
		{"59=0|", "453=1|448=a|447=D|448=b|", "PartyID (448)", "outside its group"},
		{"59=0|", "448=a|453=1|", "PartyID (448)", "outside its group"},
		{"59=0|", "453=1|447=D|448=a|", "PartyIDSource (447)", "PartyID (448) begins each"},
		{"59=0|", "453=2|448=a|447=D|", "NoPartyIDs (453)", "says 2, there are 1"},
		{"59=0|", "453=1|448=a|453=1|", "NoPartyIDs (453)", "given twice"},
		{"59=0|", "453=x|", "NoPartyIDs (453)", "no number"},
		{"59=0|", "453=101|", "NoPartyIDs (453)", "up to 100"},
		// data
		{"59=0|", "96=abc|", "RawData (96)", "RawDataLength (95) comes right before it"},
		{"59=0|", "95=3|58=x|", "RawDataLength (95)", "RawData (96) does not follow it"},
		{"59=0|", "95=2|96=abc|", "RawData (96)", "does not end after the 2 bytes"},
		{"59=0|", "95=4|96=abc|", "RawData (96)", "does not end after the 4 bytes"},
		{"59=0|", "95=60000|96=abc|", "RawData (96)", "does not end"},
		{"59=0|", "95=0|96=|", "RawDataLength (95)", "above 0"},
		{"59=0|", "95=-1|96=a|", "RawDataLength (95)", "no number"},
		{"59=0|", "354=1|", "EncodedTextLen (354)", "does not follow"},
		{"59=0|", "95=1|96=a|95=1|96=a|", "RawDataLength (95)", "given twice"},
	} {
		inner := strings.Replace(validFIX, c.old, c.new, 1)
		if inner == validFIX {
			t.Fatalf("%s is not in it", c.old)
		}
		refused(t, "application/fix", messagetest.Frame(fields(inner)), http.StatusBadRequest, c.field, c.text)
	}
	many := new(strings.Builder)
	for tag := range 1000 {
		fmt.Fprintf(many, "%d=x|", 10000+tag)
	}
	refused(t, "application/fix", messagetest.Frame(fields(validFIX+many.String())), http.StatusBadRequest, "", "more than 1000 fields")
}

func TestFIXFrame(t *testing.T) {
	valid := string(messagetest.Frame(fields(validFIX)))
	sum := valid[len(valid)-4 : len(valid)-1]
	length := fmt.Sprintf("\x019=%d\x01", len(validFIX))
	longer, shorter := fmt.Sprintf("\x019=%d\x01", len(validFIX)+1), fmt.Sprintf("\x019=%d\x01", len(validFIX)-1)
	for _, c := range []struct{ old, new, field, text string }{
		{valid, strings.ReplaceAll(valid, "\x01", "|"), "BeginString (8)", "0x01 (SOH), not with |"},
		{"FIX.4.4", "FIX.4.2", "BeginString (8)", `"FIX.4.2" is not FIX.4.4`},
		{"FIX.4.4", "FIXT.1.1", "BeginString (8)", "no other version"},
		{"8=FIX.4.4\x01", "", "BeginString (8)", "missing"},
		{valid, "\xef\xbb\xbf" + valid, "BeginString (8)", "missing"},
		{valid, "8=", "BeginString (8)", "not FIX.4.4"},
		{length, "\x01", "BodyLength (9)", "second field"},
		{length, "\x019=x\x01", "BodyLength (9)", "no number"},
		{length, "\x019=99999999999999999999\x01", "BodyLength (9)", "no number"},
		{length, "\x019=-1\x01", "BodyLength (9)", "no number"},
		{length, longer, "BodyLength (9)", fmt.Sprintf("there are %d", len(validFIX))},
		{length, shorter, "BodyLength (9)", fmt.Sprintf("there are %d", len(validFIX))},
		{valid, valid[:len(valid)-1], "BodyLength (9)", "cut off"},
		{valid, valid[:len(valid)-8], "BodyLength (9)", "cut off"},
		{valid, valid[:30], "BodyLength (9)", "cut off"},
		{valid, valid[:12], "BodyLength (9)", "missing"},
		{valid, valid + "\n", "", "1 bytes after CheckSum (10)"},
		{valid, valid + valid, "", "after CheckSum (10)"},
		{"10=" + sum, "10=" + map[bool]string{true: "001", false: "000"}[sum == "000"], "CheckSum (10)", "add up to " + sum},
		{"10=" + sum, "10=999", "CheckSum (10)", "no three digits"},
		{"10=" + sum, "10=+12", "CheckSum (10)", "no three digits"},
		{sum + "\x01", sum + "x", "CheckSum (10)", "no three digits"},
		{"ACME", "ACMF", "CheckSum (10)", "was it changed"},
	} {
		body := strings.Replace(valid, c.old, c.new, 1)
		if body == valid {
			t.Fatalf("%q is not in it", c.old)
		}
		refused(t, "application/fix", []byte(body), http.StatusBadRequest, c.field, c.text)
	}
	refused(t, "application/fix", messagetest.Frame(""), http.StatusBadRequest, "MsgType (35)", "missing")
}

// Groups that have no table here are kept: those of later versions and of other messages, two
// parties' own, also one in another, and fields of their own in the groups that have a table.
func TestFIXOtherGroups(t *testing.T) {
	want := order.Submission{Kind: order.FIX, ClientOrderID: "c1", Account: "A1", Symbol: "ACME", Side: order.Buy, Price: 1_50000000, Qty: 2_00000000}
	for _, more := range []string{
		"1445=2|1446=1|1447=0|1446=2|1447=1|",                              // rate sources (5.0 SP1)
		"2593=2|2594=0|2595=Y|2594=1|2595=N|",                              // order attributes (5.0 SP2), numbers throughout
		"555=2|600=A|623=1|624=1|600=B|623=2|624=2|",                       // legs, of another message
		"555=2|600=A|539=1|524=x|525=D|538=1|600=B|539=1|524=y|538=2|",     // with parties in each
		"20100=2|20101=a|20102=2|20103=x|20103=y|20101=b|20102=1|20103=z|", // one in another
		"20100=2|20101=a|354=1|355=\x01|20101=b|354=2|355=x\x01|",          // with data
		"453=2|448=p|447=D|452=1|2376=24|20001=x|448=q|447=D|452=3|2376=24|20001=y|",
		"453=1|448=p|802=2|523=a|803=1|20002=x|523=b|803=2|20002=y|452=1|",
		"78=2|79=a|80=1|20003=5|79=b|80=1|20003=5|",
		"711=2|311=a|20004=x|311=b|20004=y|",
		"847=1002|957=1|958=a|959=1|960=1|",
	} {
		body := messagetest.Frame(fields(strings.Replace(validFIX, "59=0|", "59=0|"+more, 1)))
		if got, err := Parse("application/fix", body); err != nil || !equal(got, want) {
			t.Errorf("%s: %+v %v", more, got, err)
		}
		body = messagetest.Frame(fields(strings.Replace(validFIX, "11=c1|", more+"11=c1|", 1))) // before the order's fields
		if got, err := Parse("application/fix", body); err != nil || !equal(got, want) {
			t.Errorf("%s, first: %+v %v", more, got, err)
		}
	}
	for _, c := range []struct{ more, field, text string }{
		{"146=2|55=A|65=x|55=B|", "Symbol (55)", "a group that begins at tag 146, that group is not known here"},
		{"20100=1|44=2|", "Price (44)", "begins at tag 20100"},
		{"552=1|54=2|", "Side (54)", "begins at tag 552"},
		{"20100=1|38=2|", "OrderQty (38)", "begins at tag 20100"},
		{"20100=2|20100=2|", "tag 20100", "given twice"},
		{"20100=0|20101=a|20101=b|", "tag 20101", "given twice"},
		{"20101=a|20101=b|20100=2|", "tag 20101", "given twice"},
	} {
		body := messagetest.Frame(fields(strings.Replace(validFIX, "59=0|", "59=0|"+c.more, 1)))
		refused(t, "application/fix", body, http.StatusBadRequest, c.field, c.text)
	}
}

// A message with any single byte changed is refused.
func TestFIXEveryByteCounts(t *testing.T) {
	valid := messagetest.Sample(order.FIX, "c1", "A1")
	for i := range valid {
		for _, change := range []byte{1, 0x80, 0xff} {
			body := bytes.Clone(valid)
			body[i] ^= change
			if _, err := Parse("application/fix", body); err == nil {
				t.Errorf("byte %d, %q, became %q", i, valid[i], body[i])
			}
		}
	}
}
