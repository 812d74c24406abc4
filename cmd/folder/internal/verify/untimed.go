package verify

import "reflect"

// untimed sets every field named Time in a value to zero, however deep.
func untimed(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			untimed(v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			untimed(v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Field(i)
			if v.Type().Field(i).Name == "Time" && f.Kind() == reflect.Uint64 && f.CanSet() {
				f.SetUint(0)
				continue
			}
			untimed(f)
		}
	}
}
