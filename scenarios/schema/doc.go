// Package schema reads TOML files whose keys are fields of tagged structs. The tags of a
// field define the accepted values, the default, the condition of use and the meaning of
// its key. A package with options therefore declares them once, next to the code that
// they configure:
//
//	type Multipath struct {
//		Ways int    `key:"max_paths" doc:"maximum number of paths per pair" default:"8" min:"1" max:"1024"`
//		Over string `key:"paths" doc:"kind of paths" default:"shortest" choices:"shortest|wild-first"`
//		Slack int   `key:"extra_hops" doc:"number of hops by which paths may be longer than the shortest" default:"0" when:"paths=wild-first"`
//	}
//
// A Schema, made by New, binds structs to the tables of one file. A Reader fills the
// structs and collects a Diagnostic for each error. Write writes the structs back as TOML
// in the order of their fields. Reference documents the keys, and JSON describes them to
// editors. Begin reading with Part and Key in schema.go, then Reader.
//
// These are the tags. A field needs the tag key or table; other fields are ignored.
//
//	key       name in the file. A blank field (_) is a key that is checked but not stored: other code reads it.
//	table     name of a table below the struct's own; the field is a struct that describes it
//	with      (with table) KEY=DEFAULT, a different default for one of its keys
//	inline    (on a struct) its keys belong to the surrounding table, as for an embedded struct
//	doc       meaning; 'x' is formatted as code
//	source    the key stands for other keys, which are written back instead
//	output    the value is a directory that is written to
//	required  the key must be given if it is used
//	default   value if the key is absent; * stands for all choices
//	else      text of a default that Part.Defaults computes
//	computed  Part.Defaults computes the default; the reference does not describe it
//	min, max  bounds of a number, of the numbers of a list, or of a rate in bits per second
//	above     exclusive lower bound
//	choices   accepted texts separated by |, or @ and a name in Names.Choices
//	unset     "" is accepted in addition to choices
//	implicit  the default is not written back
//	empty     the list may be empty
//	called    name of the key in messages about conditions
//	when      condition of use
//
// A condition consists of terms separated by &. A message names the first term that does
// not hold. A term is KEY=A|B, if the value of the key is one of these texts; KEY~A|B, if
// the list contains one of them; or NAME(A|B) with a name in Names.Conditions. A KEY
// without a dot belongs to the same table.
//
// The package does not interpret keys. Kinds of scenarios and relations between keys are
// checked by package scenarios.
package schema
