package main

import (
	"regexp"
	"slices"
	"strings"
)

// A phraseRule matches phrases in comments and documents.
type phraseRule struct {
	pattern *regexp.Regexp
	instead string
}

func phrase(pattern, instead string) phraseRule {
	return phraseRule{regexp.MustCompile("(?i)" + pattern), instead}
}

var phrases = []phraseRule{
	phrase(`\bwhat (?:is|are|was|has|have|comes?|goes|waits?|follows|it|they|a|an|the|all|others?|no|links?|packets?)\b`, "the name of the thing"),
	phrase(`\bthose (?:of|that|which|who|whose|with|in|on)\b`, "the noun again"),
	phrase(`\bthat of\b`, "the noun again"),
	phrase(`\bso (?:many|much|few)\b`, "n, or the name of the parameter"),
	phrase(`\bof (?:which|whom)\b`, "two sentences"),
	phrase(`\b(?:is|are|of) none\b`, "\"-1 if there is no ...\""),
	phrase(`\bwhere (?:there|it|that|no|none|nothing|they|several|both) \w+`, "\"if\""),
	phrase(`\bbut for\b`, "\"except\""),
	phrase(`\b(?:beside|anew|alike|soonest|fewest|dearer|dearest)\b`, "\"next to\", \"again\", \"identical\", \"earliest\", \"minimum\", \"costlier\""),
	phrase(`\b(?:is told|are told|tells?|asks? for|asked for|is asked)\b`, "\"reports\", \"requires\", \"is called\""),
	phrase(`\b(?:goes on|go on|comes to|comes of)\b`, "\"continues\", \"arrives at\", \"results from\""),
	phrase(`\b(?:was|were) tried\b`, "nothing: history belongs in commit messages"),
	phrase(`\b(?:ways?|walks?)\b`, "\"path\", \"direction\""),
	phrase(`\broom\b`, "\"capacity\""),
}

// words maps words of identifiers, in lower case, to better ones.
var words = map[string]string{
	"most": "max", "least": "min", "fewest": "min", "kept": "cached or retained", "made": "created", "told": "reported", "said": "output",
	"learnt": "adapted", "owed": "pending", "aside": "outbox", "ahead": "inbox", "apart": "isolated", "crew": "workers", "mail": "inbox",
	"landing": "arrival", "due": "pending", "alike": "identical", "walks": "paths", "walk": "path", "way": "path", "ways": "paths",
	"pressed": "bottleneckLoad", "lit": "active", "lane": "queue", "shop": "openShop", "course": "phase", "leg": "phase", "lift": "embedding",
	"forester": "treeSearch", "grower": "treeBuilder", "stamps": "basis", "bushes": "dags", "race": "incumbent", "lattice": "the name of the network",
	"routed": "a noun", "scaled": "a noun", "stepped": "a noun", "gathered": "a noun", "planned": "a noun", "decided": "a noun",
	"answer": "result", "soonest": "earliest", "mine": "owned", "whose": "owner", "who": "id", "worth": "shouldUse", "pour": "fill",
	"room": "capacity", "refuse": "reject", "clash": "conflict", "forbid": "rejectIf", "beside": "relative", "spoil": "corrupt",
	"twin": "peer", "donor": "lender", "arbiter": "allocator",
}

// camelWords matches the words of a name in camel case.
var camelWords = regexp.MustCompile(`[A-Z]+(?:[^a-z]|$)|[A-Z]?[a-z]+`)

// nouns are words that end like a participle and are nouns.
var nouns = strings.Fields("embedding feed heading kind mapping need ordering ring routing seed setting sharing speed string timing " +
	"training warning wiring")

// isParticiple reports whether the last word of a type name is a participle, judged by its ending.
func isParticiple(name string) bool {
	all := camelWords.FindAllString(name, -1)
	if len(all) == 0 {
		return false
	}
	last := strings.ToLower(all[len(all)-1])
	return (strings.HasSuffix(last, "ed") || strings.HasSuffix(last, "ing")) && !slices.Contains(nouns, last)
}
