package order

// The characters allowed in an order's names, for error messages.
const (
	AccountRule       = "1 to 64 of A-Z a-z 0-9 . _ : -"
	ClientOrderIDRule = "1 to 64 printable ASCII characters"
	SymbolRule        = "1 to 32 of A-Z 0-9 . / _ -"
)

// ValidAccount reports whether text is a valid account name: AccountRule.
func ValidAccount(text string) bool {
	return consists(text, 64, func(c byte) bool {
		return upper(c) || digit(c) || 'a' <= c && c <= 'z' || c == '.' || c == '_' || c == ':' || c == '-'
	})
}

// ValidClientOrderID reports whether text is a valid client order id: ClientOrderIDRule.
func ValidClientOrderID(text string) bool {
	return consists(text, 64, func(c byte) bool { return ' ' <= c && c <= '~' })
}

// ValidSymbol reports whether text is a valid symbol: SymbolRule.
func ValidSymbol(text string) bool {
	return consists(text, 32, func(c byte) bool {
		return upper(c) || digit(c) || c == '.' || c == '/' || c == '_' || c == '-'
	})
}

func upper(c byte) bool { return 'A' <= c && c <= 'Z' }
func digit(c byte) bool { return '0' <= c && c <= '9' }

func consists(text string, most int, of func(byte) bool) bool {
	if text == "" || len(text) > most {
		return false
	}
	for i := range len(text) {
		if !of(text[i]) {
			return false
		}
	}
	return true
}
