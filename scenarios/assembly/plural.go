package assembly

import (
	"fmt"
)

// Plural counts things for titles: "1 pod", "2 pods".
func Plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// MaxNamedItems is how many things of a kind a title names.
const MaxNamedItems = 4
