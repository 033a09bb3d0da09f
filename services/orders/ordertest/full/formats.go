package full

import (
	"fmt"
	"net/http"
	"strings"

	"dyno/services/orders/ordertest"
)

// refusesXML: a document type brings entities, and with them files, addresses and bombs; depth
// brings stacks.
func refusesXML(c *ordertest.Client) {
	me := c.Account(1)
	good := ordertest.MessageOf("good", me).Pacs()
	prolog, document, _ := strings.Cut(good, "\n")
	bomb := `<!DOCTYPE Document [<!ENTITY a "lol">`
	for i := 'b'; i <= 'k'; i++ {
		bomb += fmt.Sprintf(`<!ENTITY %c "%s">`, i, strings.Repeat(fmt.Sprintf("&%c;", i-1), 10))
	}
	bomb += "]>"
	uses := func(entity string) string { return strings.Replace(document, "Debtor and Sons", entity, 1) }
	for name, body := range map[string]string{
		"empty":             "",
		"no XML":            "{}",
		"not closed":        good[:len(good)-20],
		"two documents":     good + document,
		"text before":       prolog + "x" + document,
		"text after":        good + "x",
		"document type":     prolog + "<!DOCTYPE Document>" + document,
		"external":          prolog + `<!DOCTYPE Document [<!ENTITY x SYSTEM "file:///etc/passwd">]>` + uses("&x;"),
		"from the net":      prolog + `<!DOCTYPE Document SYSTEM "` + c.Program.Debug + `/healthz">` + document,
		"parameter entity":  prolog + `<!DOCTYPE Document [<!ENTITY % x SYSTEM "file:///dev/zero"> %x;]>` + document,
		"bomb":              prolog + bomb + uses("&k;"),
		"unknown entity":    prolog + uses("&x;"),
		"deep":              prolog + uses(strings.Repeat("<a>", 8_000)+strings.Repeat("</a>", 8_000)),
		"deep and open":     prolog + strings.Repeat("<a>", 20_000),
		"not UTF-8":         prolog + uses("\xff\xfe"),
		"UTF-16":            strings.Replace(good, "UTF-8", "UTF-16", 1),
		"other document":    strings.ReplaceAll(good, "Document", "Letter"),
		"other namespace":   strings.Replace(good, "pacs.008.001.08", "pain.001.001.09", 1),
		"no namespace":      strings.Replace(good, ` xmlns="urn:iso:std:iso:20022:tech:xsd:pacs.008.001.08"`, "", 1),
		"no id":             strings.Replace(good, "<EndToEndId>good</EndToEndId>", "", 1),
		"long id":           strings.Replace(good, ">good<", ">"+strings.Repeat("x", 65)+"<", 1),
		"no amount":         strings.Replace(good, ">100<", "><", 1),
		"negative amount":   strings.Replace(good, ">100<", ">-100<", 1),
		"no currency":       strings.Replace(good, ` Ccy="EUR"`, "", 1),
		"two payments said": strings.Replace(good, "<NbOfTxs>1<", "<NbOfTxs>2<", 1),
	} {
		c.T.Log(name)
		r := c.Submit(me, ordertest.TypePacs, body)
		c.Refused(r, http.StatusBadRequest, r.Field())
		if strings.Contains(string(r.Body), "root:") {
			c.T.Fatalf("%s: it read a file: %s", name, r)
		}
	}
	if orders, audits := c.Count(me); orders+audits != 0 {
		c.T.Fatalf("%d orders, %d audit records of what was refused", orders, audits)
	}
	ordertest.Read[ordertest.Receipt](c, c.Submit(me, ordertest.TypePacs, good), http.StatusCreated)
}

// refusesFIX: what was changed or cut off on the way is no message.
func refusesFIX(c *ordertest.Client) {
	me := c.Account(1)
	good := ordertest.MessageOf("good", me).FIX()
	body := "35=D|49=C|56=G|34=7|52=20260102-03:04:05|11=x|55=EUR|54=1|60=20260102-03:04:05|38=100|40=2|44=101.25|"
	without := func(field string) string { return ordertest.Frame(strings.Replace(body, field+"|", "", 1)) }
	instead := func(field, other string) string {
		return ordertest.Frame(strings.Replace(body, field+"|", other+"|", 1))
	}
	for name, text := range map[string]string{
		"empty":                   "",
		"no FIX":                  "{}",
		"other version":           ordertest.Sealed(fmt.Sprintf("8=FIX.4.2|9=%d|%s", len(body), body)),
		"| between fields":        strings.ReplaceAll(good, "\x01", "|"),
		"a changed byte":          strings.Replace(good, "38=100", "38=900", 1),
		"sum missing":             good[:len(good)-7],
		"sum of two digits":       good[:len(good)-4] + "7\x01",
		"sum is no number":        good[:len(good)-4] + "abc\x01",
		"cut off":                 good[:len(good)/2],
		"something follows":       good + "8=FIX.4.4\x01",
		"two messages":            good + good,
		"length too short":        ordertest.Sealed(fmt.Sprintf("8=FIX.4.4|9=%d|%s", len(body)-1, body)),
		"length too long":         ordertest.Sealed(fmt.Sprintf("8=FIX.4.4|9=%d|%s", len(body)+1, body)),
		"length far too long":     ordertest.Sealed(fmt.Sprintf("8=FIX.4.4|9=%d|%s", 9_000_000_000_000_000_000, body)),
		"length negative":         ordertest.Sealed(fmt.Sprintf("8=FIX.4.4|9=%d|%s", -len(body), body)),
		"length no number":        ordertest.Sealed("8=FIX.4.4|9=x|" + body),
		"length missing":          ordertest.Sealed("8=FIX.4.4|" + body),
		"type is not the third":   ordertest.Frame("49=C|" + body),
		"other type":              instead("35=D", "35=8"),
		"no id":                   without("11=x"),
		"no side":                 without("54=1"),
		"other side":              instead("54=1", "54=5"),
		"no quantity":             without("38=100"),
		"quantity 0":              instead("38=100", "38=0"),
		"no symbol":               without("55=EUR"),
		"limit without price":     without("44=101.25"),
		"market with price":       instead("40=2", "40=1"),
		"price in scientific":     instead("44=101.25", "44=1e2"),
		"quantity given twice":    ordertest.Frame(body + "38=200|"),
		"a field without a tag":   ordertest.Frame(body + "=x|"),
		"a field without value":   ordertest.Frame(body + "58=|"),
		"a tag that is no number": ordertest.Frame(body + "x=1|"),
	} {
		c.T.Log(name)
		r := c.Submit(me, ordertest.TypeFIX, text)
		c.Refused(r, http.StatusBadRequest, r.Field())
	}
	if orders, audits := c.Count(me); orders+audits != 0 {
		c.T.Fatalf("%d orders, %d audit records of what was refused", orders, audits)
	}
	ordertest.Read[ordertest.Receipt](c, c.Submit(me, ordertest.TypeFIX, ordertest.Frame(body)), http.StatusCreated)
}
