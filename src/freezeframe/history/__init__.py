"""Every stop, kept: recorded after the answer went out, asked again later, compared, replayed."""
