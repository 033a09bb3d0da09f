package redact

import "log/slog"

// Attr hides the secrets in an attribute of a log line, as slog.HandlerOptions.ReplaceAttr: URLs
// are also in the errors of clients.
func Attr(_ []string, a slog.Attr) slog.Attr {
	switch v := a.Value.Any().(type) {
	case string:
		a.Value = slog.StringValue(Setting(a.Key, v))
	case error:
		a.Value = slog.StringValue(Text(v.Error()))
	case []string:
		a.Value = slog.AnyValue(Args(v))
	}
	return a
}
