package message

import (
	"strconv"
	"strings"
)

// The lexical forms of XML Schema 1.0 (part 2, second edition) for the types of pacs.008 that are
// not texts. White space around them is no part of the value (4.3.6, collapse).

const xmlSpace = " \t\r\n"

// maxDecimalDigits is totalDigits of all decimals of pacs.008.
const maxDecimalDigits = 18

// decimal returns a check for xs:decimal (3.2.3) with limited digits after the point, and 18 in
// all. Zeros at either end count as little as a sign: the facets are of the value (4.3.11, 4.3.12).
func decimal(fraction int, negative bool) func(string) string {
	why := "is no decimal such as 1250.75 with at most 18 digits, " + strconv.Itoa(fraction) + " of them after the point"
	if !negative {
		why += ", and 0 or more"
	}
	return func(text string) string {
		value, ok := canonicalDecimal(text)
		digits, below := strings.CutPrefix(value, "-")
		whole, decimals, _ := strings.Cut(digits, ".")
		if !ok || below && !negative || len(decimals) > fraction || len(strings.TrimPrefix(whole, "0"))+len(decimals) > maxDecimalDigits {
			return why
		}
		return ""
	}
}

// canonicalDecimal returns an xs:decimal without needless signs, zeros and points: "-0.5" for
// "-0.50".
func canonicalDecimal(text string) (value string, ok bool) {
	text = strings.Trim(text, xmlSpace)
	unsigned, negative := strings.CutPrefix(text, "-")
	if !negative {
		unsigned = strings.TrimPrefix(text, "+")
	}
	whole, decimals, _ := strings.Cut(unsigned, ".")
	if whole+decimals == "" || !digits("0"+whole+decimals) {
		return "", false
	}
	whole, decimals = strings.TrimLeft(whole, "0"), strings.TrimRight(decimals, "0")
	if whole == "" {
		whole = "0"
	}
	if decimals != "" {
		whole += "." + decimals
	}
	if negative && whole != "0" {
		whole = "-" + whole
	}
	return whole, true
}

// date checks for xs:date (3.2.9).
func date(text string) string {
	if rest, ok := cutDate(strings.Trim(text, xmlSpace)); !ok || !zone(rest) {
		return "is no date such as 2026-01-02"
	}
	return ""
}

// dateTime checks for xs:dateTime (3.2.7), with or without a zone.
func dateTime(text string) string {
	rest, ok := cutDate(strings.Trim(text, xmlSpace))
	if ok {
		rest, ok = cutTime(rest)
	}
	if !ok || !zone(rest) {
		return "is no time such as 2026-01-02T15:04:05.678Z"
	}
	return ""
}

// cutDate reads a year of four digits or more, which is not 0 and may be before Christ, a month and
// a day (3.2.7.1), and returns what follows.
func cutDate(text string) (rest string, ok bool) {
	year, rest, ok := strings.Cut(strings.TrimPrefix(text, "-"), "-")
	if !ok || len(year) < 4 || !digits(year) || len(year) > 4 && year[0] == '0' || strings.Trim(year, "0") == "" {
		return "", false
	}
	month, ok := twoDigits(rest, 1, 12)
	if !ok || len(rest) < 5 || rest[2] != '-' {
		return "", false
	}
	last := [...]int{31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31}[month-1]
	// 10,000 is a multiple of 400: the last four digits say whether it is a leap year (appendix E).
	if y, _ := strconv.Atoi(year[len(year)-4:]); month == 2 && y%4 == 0 && (y%100 != 0 || y%400 == 0) {
		last = 29
	}
	if _, ok := twoDigits(rest[3:], 1, last); !ok {
		return "", false
	}
	return rest[5:], true
}

// cutTime reads T, hours, minutes, and seconds with any number of decimals. 24:00:00 is the end of
// the day.
func cutTime(text string) (rest string, ok bool) {
	const layout = "Thh:mm:ss"
	if len(text) < len(layout) || text[0] != 'T' || text[3] != ':' || text[6] != ':' {
		return "", false
	}
	hour, okHour := twoDigits(text[1:], 0, 24)
	minute, okMinute := twoDigits(text[4:], 0, 59)
	second, okSecond := twoDigits(text[7:], 0, 59)
	rest, fraction := text[len(layout):], ""
	if after, pointed := strings.CutPrefix(rest, "."); pointed {
		rest = strings.TrimLeft(after, "0123456789")
		if fraction = after[:len(after)-len(rest)]; fraction == "" {
			return "", false
		}
	}
	over := hour == 24 && (minute > 0 || second > 0 || strings.Trim(fraction, "0") != "")
	return rest, okHour && okMinute && okSecond && !over
}

// zone reports whether a text is a time zone up to 14 hours from UTC, or none (3.2.7.3).
func zone(text string) bool {
	if text == "" || text == "Z" {
		return true
	}
	if len(text) != len("+hh:mm") || text[0] != '+' && text[0] != '-' || text[3] != ':' {
		return false
	}
	hours, okHours := twoDigits(text[1:], 0, 14)
	minutes, okMinutes := twoDigits(text[4:], 0, 59)
	return okHours && okMinutes && (hours < 14 || minutes == 0)
}

// twoDigits reads a number at the beginning of a text.
func twoDigits(text string, least, most int) (n int, ok bool) {
	if len(text) < 2 || !digits(text[:2]) {
		return 0, false
	}
	n = int(text[0]-'0')*10 + int(text[1]-'0')
	return n, least <= n && n <= most
}
