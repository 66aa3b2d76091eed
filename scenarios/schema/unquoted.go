package schema

import (
	"regexp"
	"strings"

	"github.com/BurntSushi/toml"
)

// unquotedValue explains a line whose value lacks the quotes or brackets that TOML requires,
// such as link_rate = 400Gbps, overlap = yes or dims = 8,8,8. It returns nil if the line has
// another error. isInList reports that the line may be part of a list that began on an
// earlier line.
func unquotedValue(line string, isInList bool) *Rejection {
	if strings.Contains(line, `"""`) || strings.Contains(line, "'''") {
		return nil
	}
	key, value, isPair := strings.Cut(line, "=")
	key = strings.TrimSpace(key)
	isPair = isPair && plainKey.MatchString(key)
	if !isPair && !isInList {
		return nil
	}

	// Values without brackets extend to the comment. Commas then separate the elements of a
	// list, or the digits of a number.
	value, _, _ = strings.Cut(value, "#")
	value = strings.TrimSpace(value)
	if isPair && value != "" && !strings.ContainsAny(value, "[]{}\"'") {
		remedy := key + " = " + asTOML(value)
		switch {
		case digitGroups.MatchString(value):
			remedy = key + " = " + strings.ReplaceAll(value, ",", "")
		case strings.Contains(value, ","):
			var elements []string
			for element := range strings.SplitSeq(value, ",") {
				elements = append(elements, asTOML(strings.TrimSpace(element)))
			}
			remedy = key + " = [" + strings.Join(elements, ", ") + "]"
		case isTOML(value):
			return nil
		case !hasLetter.MatchString(value) && !leadingZero.MatchString(value), prefixedNumber.MatchString(value):
			return nil // a misspelt number
		}
		return unquoted(value, remedy)
	}

	// A list or an inline table: find the first element that is no value.
	if !isPair {
		value, _, _ = strings.Cut(line, "#")
	}
	for _, element := range elementPattern.FindAllString(value, -1) {
		element = strings.TrimSpace(element)
		isKey := strings.HasSuffix(element, "=")
		if element == "" || isKey || strings.ContainsAny(element[:1], `"'`) || isTOML(element) || !hasLetter.MatchString(element) {
			continue
		}
		return unquoted(element, asTOML(element))
	}
	return nil
}

var (
	// plainKey matches a key without quotes.
	plainKey = regexp.MustCompile(`^[A-Za-z0-9_.-]+$`)
	// digitGroups matches a number with thousands separators.
	digitGroups = regexp.MustCompile(`^\d{1,3}(,\d{3})+$`)
	hasLetter   = regexp.MustCompile(`[A-Za-z]`)
	// leadingZero matches digits that TOML rejects as a number, such as the twist 010010.
	leadingZero = regexp.MustCompile(`^0\d+$`)
	// prefixedNumber matches an unfinished hexadecimal, octal or binary number.
	prefixedNumber = regexp.MustCompile(`^0[xob][0-9A-Fa-f_]*$`)
	// elementPattern matches a text in quotes, a key with "=", or another element of a list
	// or an inline table.
	elementPattern = regexp.MustCompile(`"[^"]*"|'[^']*'|[^][{},="']+=?`)
)

// unquoted returns the rejection of a value, with the remedy to write instead.
func unquoted(value, remedy string) *Rejection {
	problem := Clip(oneLine(value), 60) + " is no TOML value"
	switch {
	case truthValues[strings.ToLower(value)] != "":
		problem += ", which has true and false"
	case strings.Contains(remedy, `"`) && !strings.Contains(remedy, "["):
		problem += ": texts and numbers with a unit need quotes"
	case strings.Contains(remedy, "["):
		problem += ": lists need brackets, and texts in them quotes"
	}
	return &Rejection{Problem: problem, Remedy: "write " + Clip(oneLine(remedy), 120)}
}

// truthValues maps the words for truth values in other formats to the words of TOML.
var truthValues = map[string]string{
	"yes": "true", "on": "true", "true": "true", "no": "false", "off": "false", "false": "false",
}

// asTOML returns a text as the TOML value that it most likely stands for.
func asTOML(text string) string {
	if word := truthValues[strings.ToLower(text)]; word != "" {
		return word
	}
	if text == "" || isTOML(text) {
		return text
	}
	return Literal(text)
}

// isTOML reports whether a text is a valid TOML value.
func isTOML(text string) bool {
	var m map[string]any
	_, err := toml.Decode("v = "+text, &m)
	return err == nil
}
