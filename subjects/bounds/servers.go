package main

import (
	"slices"

	"dyno/subjects/bounds/languages"
	"dyno/subjects/bounds/pages"
	"dyno/subjects/bounds/suite"
)

// servers is the list of the servers in Go, by family.
var servers = []suite.Entry{
	fingerprints, pages.Catalogue, pages.Search, pages.Ranking,
	ledger, audit, visits, prices,
	orders, couriers, shop, calculator, timed, comparing, printing, registry,
	forum, filters, sessions,
	journals, secretary, mailer, turnstile,
	pages.Site, pages.Copies,
	signedForum, vaults,
	gate, tickerTape, crowded, paced, thinking,
}

// entries is the servers in every language.
var entries = slices.Concat(servers, languages.Servers)
