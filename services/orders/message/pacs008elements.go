package message

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// pacs008Element is a checked element: it occurs at most once, after those before it in the table.
type pacs008Element struct {
	path      string // below FIToFICstmrCdtTrf
	mandatory bool
	check     func(text string) (why string) // nil means that it contains elements
}

// pacs008Elements are in the order of the schema (pacs.008.001.08 to .13). Others are kept as is.
var pacs008Elements = [...]pacs008Element{
	{"GrpHdr", true, nil},
	{"GrpHdr/MsgId", true, upTo(35)},
	{"GrpHdr/CreDtTm", true, dateTime},
	{"GrpHdr/NbOfTxs", true, oneTransfer},
	{"GrpHdr/CtrlSum", false, decimal(17, true)},
	{"GrpHdr/SttlmInf", true, nil},
	{"GrpHdr/SttlmInf/SttlmMtd", true, oneOf("INDA", "INGA", "COVE", "CLRG")},
	{"CdtTrfTxInf", true, nil},
	{"CdtTrfTxInf/PmtId", true, nil},
	{"CdtTrfTxInf/PmtId/InstrId", false, upTo(35)},
	pacsEndToEndID: {"CdtTrfTxInf/PmtId/EndToEndId", true, upTo(35)},
	{"CdtTrfTxInf/PmtId/TxId", false, upTo(35)},
	{"CdtTrfTxInf/PmtId/UETR", false, uetr},
	pacsAmount: {"CdtTrfTxInf/IntrBkSttlmAmt", true, decimal(5, false)},
	{"CdtTrfTxInf/IntrBkSttlmDt", false, date},
	{"CdtTrfTxInf/SttlmPrty", false, oneOf("URGT", "HIGH", "NORM")},
	{"CdtTrfTxInf/InstdAmt", false, decimal(5, false)},
	{"CdtTrfTxInf/ChrgBr", true, oneOf("DEBT", "CRED", "SHAR", "SLEV")},
	{"CdtTrfTxInf/InstgAgt/FinInstnId/BICFI", false, bic},
	{"CdtTrfTxInf/InstdAgt/FinInstnId/BICFI", false, bic},
	{"CdtTrfTxInf/Dbtr", true, nil},
	{"CdtTrfTxInf/Dbtr/Nm", false, upTo(140)},
	{"CdtTrfTxInf/DbtrAcct", false, nil},
	pacsDebtorIBAN:  {"CdtTrfTxInf/DbtrAcct/Id/IBAN", false, iban},
	pacsDebtorOther: {"CdtTrfTxInf/DbtrAcct/Id/Othr/Id", false, upTo(34)},
	{"CdtTrfTxInf/DbtrAgt", true, nil},
	{"CdtTrfTxInf/DbtrAgt/FinInstnId", true, nil},
	{"CdtTrfTxInf/DbtrAgt/FinInstnId/BICFI", false, bic},
	{"CdtTrfTxInf/CdtrAgt", true, nil},
	{"CdtTrfTxInf/CdtrAgt/FinInstnId", true, nil},
	{"CdtTrfTxInf/CdtrAgt/FinInstnId/BICFI", false, bic},
	{"CdtTrfTxInf/Cdtr", true, nil},
	{"CdtTrfTxInf/Cdtr/Nm", false, upTo(140)},
	{"CdtTrfTxInf/CdtrAcct", false, nil},
	{"CdtTrfTxInf/CdtrAcct/Id/IBAN", false, iban},
	{"CdtTrfTxInf/CdtrAcct/Id/Othr/Id", false, upTo(34)},
}

// Elements used for the order.
const (
	pacsEndToEndID  = 10
	pacsAmount      = 13
	pacsDebtorIBAN  = 23
	pacsDebtorOther = 24

	pacs008Count = len(pacs008Elements)
)

var pacs008Index = func() map[string]int {
	index := make(map[string]int, pacs008Count)
	for i, e := range pacs008Elements {
		index[e.path] = i
	}
	return index
}()

// upTo returns a check for MaxNText.
func upTo(most int) func(string) string {
	why := "has no text or more than " + strconv.Itoa(most) + " characters"
	return func(text string) string {
		if text == "" || utf8.RuneCountInString(text) > most {
			return why
		}
		return ""
	}
}

func oneOf(codes ...string) func(string) string {
	why := "is none of " + strings.Join(codes, ", ")
	return func(text string) string {
		for _, code := range codes {
			if text == code {
				return ""
			}
		}
		return why
	}
}

func digits(text string) bool {
	for i := range len(text) {
		if text[i] < '0' || text[i] > '9' {
			return false
		}
	}
	return text != ""
}

func oneTransfer(text string) string {
	switch {
	case !digits(text) || len(text) > 15:
		return "is no number"
	case strings.TrimLeft(text, "0") != "1":
		return "transfers are announced; send one a message"
	}
	return ""
}

// uetr checks for a UUID of version 4 in lower case.
func uetr(text string) string {
	const pattern = "xxxxxxxx-xxxx-4xxx-vxxx-xxxxxxxxxxxx"
	ok := len(text) == len(pattern)
	for i := 0; ok && i < len(pattern); i++ {
		c := text[i]
		switch pattern[i] {
		case 'x':
			ok = '0' <= c && c <= '9' || 'a' <= c && c <= 'f'
		case 'v':
			ok = c == '8' || c == '9' || c == 'a' || c == 'b'
		default:
			ok = c == pattern[i]
		}
	}
	if !ok {
		return "is no UUID of version 4 in lower case"
	}
	return ""
}

// bic checks the form of ISO 9362: 4 letters or digits, a country's 2 letters, 2 or 5 of either.
func bic(text string) string {
	ok := len(text) == 8 || len(text) == 11
	for i := 0; ok && i < len(text); i++ {
		c := text[i]
		ok = 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' && i != 4 && i != 5
	}
	if !ok {
		return "is no BIC such as DEUTDEFF or DEUTDEFF500"
	}
	return ""
}

// iban checks form and checksum of ISO 13616: with its first four characters moved to the end and
// its letters read as 10 to 35, the number modulo 97 is 1.
func iban(text string) string {
	if len(text) < 5 || len(text) > 34 {
		return "is no IBAN; it has 5 to 34 characters"
	}
	rest := 0
	for i := range len(text) {
		c := text[(i+4)%len(text)]
		letter := 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z'
		switch position := (i + 4) % len(text); {
		case position < 2 && (c < 'A' || c > 'Z'), position >= 2 && position < 4 && letter:
			return "is no IBAN; it begins with a country's two letters and two digits"
		case letter:
			rest = (rest*100 + int(c&^0x20-'A') + 10) % 97
		case '0' <= c && c <= '9':
			rest = (rest*10 + int(c-'0')) % 97
		default:
			return "is no IBAN; it has letters and digits only"
		}
	}
	if rest != 1 {
		return "is no IBAN: its check digits do not fit; was it mistyped?"
	}
	return ""
}

func currencyCode(text string) bool {
	return len(text) == 3 && strings.Trim(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == ""
}
