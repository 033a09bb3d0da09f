package importer

import (
	"errors"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/getkin/kin-openapi/openapi3"
)

// maxText bounds the length of a text that is made up.
const maxText = 32 << 10

// sampleText makes a text that a schema permits, by its format, pattern and length. Each nth gives
// a different text.
func sampleText(s *openapi3.Schema, nth int) (text, why string) {
	least, most := s.MinLength, uint64(maxText)
	if s.MaxLength != nil {
		most = min(most, *s.MaxLength)
	}
	if least > most {
		return "", "it needs " + strconv.FormatUint(least, 10) + " characters"
	}
	re, err := compiledPattern(s.Pattern)
	if err != nil {
		return "", "its pattern, " + strconv.Quote(shortened(s.Pattern)) + ", has a form that is not read"
	}
	fits := func(text string) bool {
		n := uint64(utf8.RuneCountInString(text))
		return n >= least && n <= most && re.MatchString(text)
	}
	if f := anotherText(s.Format, formatSamples[s.Format], nth); f != "" && fits(f) {
		return f, ""
	}
	if s.Pattern != "" {
		return patternText(s.Pattern, int(least), nth, fits)
	}
	if formatSamples[s.Format] != "" && s.Format != "password" {
		return "", "no text of its format has such a length"
	}
	text = "text"
	if nth > 0 {
		text = strconv.Itoa(nth)
	}
	if n := uint64(len(text)); n < least {
		text += strings.Repeat("x", int(least-n))
	} else if n > most {
		text = text[:most]
	}
	return text, ""
}

// anotherText returns the nth text of a format; text is the first.
func anotherText(format, text string, nth int) string {
	if nth == 0 || text == "" {
		return text
	}
	n := strconv.Itoa(nth)
	switch format {
	case "date", "date-time":
		return strconv.Itoa(2026+nth%1000) + text[4:]
	case "uuid":
		return text[:len(text)-len(n)] + n
	case "email", "idn-email":
		return "user" + n + "@example.com"
	case "hostname", "idn-hostname":
		return "h" + n + "." + text
	case "ipv4":
		return "192.0.2." + strconv.Itoa(nth%250+2)
	case "ipv6":
		return "2001:db8::" + strconv.FormatInt(int64(nth%0xffff+1), 16)
	case "time":
		return "12:" + twoDigits(nth/60%60) + ":" + twoDigits(nth%60) + "Z"
	case "duration":
		return "PT" + n + "H"
	case "byte", "base64":
		return text
	}
	return text + n
}

func twoDigits(n int) string { return strconv.Itoa(n/10) + strconv.Itoa(n%10) }

// unicodeEscape matches an escape that Go writes in another way.
var unicodeEscape = regexp.MustCompile(`\\u([0-9a-fA-F]{4})`)

// ecma translates a regular expression of JSON Schema into Go's syntax.
func ecma(pattern string) string { return unicodeEscape.ReplaceAllString(pattern, `\x{$1}`) }

// compiledPattern compiles a pattern, which is not anchored.
func compiledPattern(pattern string) (*regexp.Regexp, error) {
	const longest = 4096
	if len(pattern) > longest {
		return nil, errors.New("the pattern is too long")
	}
	return regexp.Compile(ecma(pattern))
}

func matchesPattern(pattern, text string) (bool, error) {
	if pattern == "" {
		return true, nil
	}
	re, err := compiledPattern(pattern)
	return err == nil && re.MatchString(text), err
}

// patternText makes a text that has a match of a pattern and fits.
func patternText(pattern string, least, nth int, fits func(string) bool) (text, why string) {
	re, err := syntax.Parse(ecma(pattern), syntax.Perl)
	if err != nil {
		return "", "its pattern cannot be read"
	}
	re = re.Simplify()
	branches, repetitions := min(1+strings.Count(pattern, "|"), 8), 40
	extras := []int{least, least / 2, least / 3, least / 4}
	for n := range min(least+2, repetitions) {
		extras = append(extras, n)
	}
	slices.Sort(extras)
	for branch := range branches {
		for _, shift := range []int{nth, nth + 7} {
			for _, extra := range slices.Compact(extras) {
				g := patternGenerator{extra: extra, branch: branch, shift: shift, room: maxText}
				g.write(re)
				made := g.out.String()
				for _, text := range []string{made, made + strings.Repeat("x", max(least-utf8.RuneCountInString(made), 0))} {
					if fits(text) {
						return text, ""
					}
				}
			}
		}
	}
	return "", "no text was found for its pattern, " + strconv.Quote(shortened(pattern))
}

func shortened(s string) string {
	const most = 60
	if len(s) > most {
		return strings.ToValidUTF8(s[:most], "") + "..."
	}
	return s
}

// patternGenerator writes a text that a regular expression matches.
type patternGenerator struct {
	out    strings.Builder
	extra  int // repetitions beyond the fewest
	branch int // which alternative to take
	shift  int // which character of a class
	room   int
}

func (g *patternGenerator) write(re *syntax.Regexp) {
	if g.out.Len() > g.room {
		return
	}
	switch re.Op {
	case syntax.OpLiteral:
		for _, r := range re.Rune {
			g.out.WriteRune(r)
		}
	case syntax.OpCharClass:
		g.out.WriteRune(oneOfClass(re.Rune, g.shift))
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		g.out.WriteRune('a' + rune(g.shift%26))
	case syntax.OpAlternate:
		g.write(re.Sub[g.branch%len(re.Sub)])
	case syntax.OpConcat, syntax.OpCapture:
		for _, sub := range re.Sub {
			g.write(sub)
		}
	case syntax.OpStar, syntax.OpPlus, syntax.OpQuest:
		if re.Op == syntax.OpPlus {
			g.write(re.Sub[0])
		}
		for g.extra > 0 && g.out.Len() <= g.room {
			g.extra--
			if g.write(re.Sub[0]); re.Op == syntax.OpQuest {
				return
			}
		}
	}
}

// oneOfClass returns a character of a class, which is a list of pairs of bounds: a letter or digit
// if possible.
func oneOfClass(class []rune, shift int) rune {
	for _, wanted := range [][2]rune{{'a', 'z'}, {'A', 'Z'}, {'0', '9'}, {'!', '~'}} {
		var all []rune
		for i := 0; i+1 < len(class); i += 2 {
			for r := max(class[i], wanted[0]); r <= min(class[i+1], wanted[1]); r++ {
				all = append(all, r)
			}
		}
		if len(all) > 0 {
			return all[shift%len(all)]
		}
	}
	if len(class) < 2 {
		return 'x'
	}
	return min(class[0]+rune(shift), class[1])
}
