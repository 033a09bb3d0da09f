package encode

import "strings"

// Format is the encoding of answers.
type Format uint8

// The formats.
const (
	AsJSON Format = iota + 1
	AsMsgpack
)

// mediaTypes are the media types of each format.
var mediaTypes = [...][]string{
	AsJSON:    {"application/json"},
	AsMsgpack: {"application/msgpack", "application/x-msgpack", "application/vnd.msgpack"},
}

// How closely a media range matches.
const (
	anything  = iota + 1 // */*
	anyOfType            // application/*
	byName
)

// wish is a client's preference for a format.
type wish struct {
	fit   int // 0 means no match
	q     int // in thousandths; 0 means not acceptable
	place int // position in the header
}

// Negotiate chooses the format for an Accept header by RFC 9110, 12.5.1: for each format the
// closest range counts, and the format with the highest weight wins; of equal weights the one with
// the closer range, then the one named first, then JSON. Elements that cannot be parsed are
// ignored. Without a header it is JSON. It returns false when the client accepts no format.
func Negotiate(accept string) (Format, bool) {
	if strings.Trim(accept, " \t") == "" {
		return AsJSON, true
	}
	var wishes [AsMsgpack + 1]wish
	for place, rest := 0, accept; rest != ""; place++ {
		var element string
		element, rest = cut(rest, ',')
		name, q, ok := weighted(element)
		if !ok {
			continue
		}
		for format := AsJSON; format <= AsMsgpack; format++ {
			fit, have := fits(name, format), &wishes[format]
			if fit > have.fit || fit > 0 && fit == have.fit && q > have.q {
				*have = wish{fit, q, place}
			}
		}
	}
	json, msgpack := wishes[AsJSON], wishes[AsMsgpack]
	if msgpack.better(json) {
		return AsMsgpack, true
	}
	return AsJSON, json.q > 0
}

func (w wish) better(than wish) bool {
	switch {
	case w.q != than.q:
		return w.q > than.q
	case w.fit != than.fit:
		return w.q > 0 && w.fit > than.fit
	}
	return w.q > 0 && w.place < than.place
}

func fits(name string, format Format) int {
	switch {
	case name == "*/*":
		return anything
	case strings.EqualFold(name, "application/*"):
		return anyOfType
	}
	for _, media := range mediaTypes[format] {
		if strings.EqualFold(name, media) {
			return byName
		}
	}
	return 0
}

// weighted splits an element of a header into its name and its weight, which is 1000 by default. It
// ignores other parameters: application/json;charset=utf-8 means JSON.
func weighted(element string) (name string, q int, ok bool) {
	name, rest := cut(element, ';')
	q = 1000
	for rest != "" {
		var parameter string
		parameter, rest = cut(rest, ';')
		key, value, _ := strings.Cut(parameter, "=")
		if !strings.EqualFold(key, "q") {
			continue
		}
		if q, ok = thousandths(value); !ok {
			return "", 0, false
		}
	}
	return name, q, name != ""
}

// thousandths parses a weight: 0 to 1 with at most three decimals.
func thousandths(text string) (q int, ok bool) {
	whole, fraction, _ := strings.Cut(text, ".")
	if whole != "0" && whole != "1" || len(fraction) > 3 {
		return 0, false
	}
	q = int(whole[0]-'0') * 1000
	for i, unit := 0, 100; i < len(fraction); i, unit = i+1, unit/10 {
		if fraction[i] < '0' || fraction[i] > '9' {
			return 0, false
		}
		q += int(fraction[i]-'0') * unit
	}
	return q, q <= 1000
}

// cut splits at the first separator outside quotes, and trims the part before it.
func cut(text string, separator byte) (before, after string) {
	quoted := false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case c == separator && !quoted:
			return strings.Trim(text[:i], " \t"), text[i+1:]
		}
	}
	return strings.Trim(text, " \t"), ""
}
