// Package page is what people see of notifyd: one page with its rates, its queues by age, its
// failing subscribers and its dead letters, which it can replay and delete. The page asks the API,
// once a second, at v1/ below its own address; POST workers beside it changes their number.
//
// It is not an API and knows nothing of the dispatcher: what it shows is what GET v1/stats and
// v1/dead answer. It starts no goroutines.
package page

import (
	"embed"
	"net/http"

	"dyno/parts/debugpage"
)

//go:embed assets
var assets embed.FS

// Figures are those of the page's charts, in their order, so that debugpage.Recent can keep them.
var Figures = []debugpage.Figure{
	{Title: "Accepted", Kind: debugpage.Rate, Metric: "notifyd_accepted_total"},
	{Title: "Delivered", Kind: debugpage.Rate, Metric: "notifyd_delivered_total"},
	{Title: "Retried", Kind: debugpage.Rate, Metric: "notifyd_retries_total"},
	{Title: "Dead", Kind: debugpage.Rate, Metric: "notifyd_dead_deliveries"},
	{Title: "Pending", Kind: debugpage.Now, Metric: "notifyd_async_queue_depth"},
	{Title: "Oldest pending", Kind: debugpage.Now, Metric: "notifyd_async_oldest_age_seconds"},
}

// Handler serves the page: mount it at a path that ends in a slash, with the API at v1/ below that.
func Handler() http.Handler {
	var scripts []string
	for _, name := range []string{"figures.js", "subscriptions.js", "letters.js", "page.js"} {
		scripts = append(scripts, asset(name))
	}
	return debugpage.Handler(asset("page.html"), asset("page.css"), scripts...)
}

func asset(name string) string {
	text, err := assets.ReadFile("assets/" + name)
	if err != nil {
		panic(err) // a name in this file that is not in the program
	}
	return string(text)
}
